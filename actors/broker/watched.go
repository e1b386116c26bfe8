package broker

import (
	"fmt"

	"troupe/actors/console"
)

// openConsole serves the admin port from early on, so that a long recovery can be watched.
func (b *Broker) openConsole() {
	// No admin.address is configured.
	if b.adminSocket == nil {
		return
	}
	b.admin = console.New(b.adminSocket, console.Deps{
		Log: b.log, System: b.system, Tracer: b.tracer, Node: b.node, Ready: b.notReady, State: b.state,
		Connections: b.connections.Count, Waiting: b.connections.Waiting, InFlight: b.connections.Credits, Descriptors: b.descriptors,
		Panics: b.cfg.Admin.Panics, Lag: &b.lag, Members: b.members, Throttled: b.throttled,
	})
	go b.admin.Serve()
}

// closeConsole comes last in a stop, which can be watched until then.
func (b *Broker) closeConsole() {
	if b.admin != nil {
		_ = b.admin.Close() // cuts off whoever still watches
	}
}

// state is Kafka's BrokerState, by what has come first: a stop overrides everything else.
func (b *Broker) state() console.State {
	switch stop := b.stopping.Load(); {
	case stop != 0:
		return console.State(stop)
	case b.serving.Load():
		return console.Running
	case b.opening.logs.Load() > 0:
		return console.Recovering
	default:
		return console.Starting
	}
}

// notReady tells what keeps the broker from serving; empty when nothing does.
func (b *Broker) notReady() string {
	switch {
	case b.serving.Load():
		return ""
	case b.stopping.Load() != 0:
		return "stopping"
	case !b.opening.ended() && b.opening.logs.Load() == 0:
		return "starting: the metadata of the cluster is not here yet"
	case b.opening.ended():
		return "starting: the controller has not let this node in yet"
	default:
		return fmt.Sprintf("starting: %d of %d logs are still being opened", b.opening.left.Load(), b.opening.logs.Load())
	}
}
