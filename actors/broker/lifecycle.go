package broker

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/controller"
	"troupe/actors/kit"
	"troupe/actors/metadata"
	"troupe/codec/kerr"
	"troupe/internal/model"
	"troupe/partitionlog/checkpoint"
)

// lifecycleState is what the rest of the broker may know of its registration.
type lifecycleState struct {
	id    model.BrokerID
	value atomic.Int64 // the broker epoch
}

func (s *lifecycleState) epoch() model.BrokerEpoch { return model.BrokerEpoch(s.value.Load()) }

// lifecycle registers this broker with the controller and keeps it unfenced by heartbeats (facts/replication.md 8).
type lifecycle struct {
	state      *lifecycleState
	request    *kmsg.BrokerRegistrationRequest
	controller kit.Ref
	source     *metadata.Source
	every      time.Duration // broker.heartbeat.interval.ms
	within     time.Duration // initial.broker.registration.timeout.ms
	log        *slog.Logger
	fatal      func(error)
	serving    func() // called once, when the controller has unfenced this broker and its metadata says so

	registered bool
	served     bool
	stopping   *leave
}

type (
	heartbeatDue struct{}
	// registrationOverdue ends a start whose controller is not to be reached.
	registrationOverdue struct{}
	registration        struct {
		resp *kmsg.BrokerRegistrationResponse
	}
	heartbeat struct{ resp *kmsg.BrokerHeartbeatResponse }
	// leave asks for a controlled shutdown: leaderships move away first.
	leave struct{ done func() }
)

func (*heartbeatDue) MessageKind() string        { return "lifecycle.heartbeat-due" }
func (*registrationOverdue) MessageKind() string { return "lifecycle.registration-overdue" }
func (*registration) MessageKind() string        { return "lifecycle.registration" }
func (*heartbeat) MessageKind() string           { return "lifecycle.heartbeat" }
func (*leave) MessageKind() string               { return "lifecycle.leave" }

// Fail lets the shutdown go on without the controller.
func (m *leave) Fail(error) { m.done() }

// retryAfter is the pause after a refused registration or heartbeat.
const retryAfter = 50 * time.Millisecond

func (l *lifecycle) Start(ctx *kit.Context) {
	u, err := model.NewUUID(rand.Reader)
	if err != nil {
		panic(err) // the system's randomness does not fail
	}
	l.request.IncarnationID = u
	ctx.After(l.within, &registrationOverdue{})
	l.register(ctx)
}

func (l *lifecycle) Receive(ctx *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case *heartbeatDue:
		if l.registered {
			l.beat(ctx)
		} else {
			l.register(ctx)
		}
	case *registrationOverdue:
		if !l.served {
			l.fatal(fmt.Errorf("no controller accepted this broker within %s (initial.broker.registration.timeout.ms)", l.within))
		}
	case *registration:
		l.onRegistration(ctx, m.resp)
	case *heartbeat:
		l.onHeartbeat(ctx, m.resp)
	case *leave:
		l.stopping = m
		l.beat(ctx)
	}
}

func (l *lifecycle) register(ctx *kit.Context) {
	self := ctx.Self()
	ctx.Send(l.controller, &controller.Request{Body: l.request, Done: func(resp kmsg.Response) {
		self.Send(&registration{resp.(*kmsg.BrokerRegistrationResponse)})
	}})
}

func (l *lifecycle) onRegistration(ctx *kit.Context, resp *kmsg.BrokerRegistrationResponse) {
	if code := kerr.Code(resp.ErrorCode); code != kerr.None {
		if code != kerr.NotController {
			l.log.Warn("registration refused, trying again", "code", code.Name(), "err", code.Error())
		}
		ctx.After(retryAfter, &heartbeatDue{})
		return
	}
	l.registered = true
	l.state.value.Store(resp.BrokerEpoch)
	l.beat(ctx)
}

func (l *lifecycle) beat(ctx *kit.Context) {
	req := kmsg.NewPtrBrokerHeartbeatRequest()
	req.Version = 1
	req.BrokerID, req.BrokerEpoch = int32(l.state.id), int64(l.state.epoch())
	req.CurrentMetadataOffset = int64(l.source.Image().Offset)
	req.WantShutdown = l.stopping != nil
	self := ctx.Self()
	ctx.Send(l.controller, &controller.Request{Body: req, Done: func(resp kmsg.Response) {
		self.Send(&heartbeat{resp.(*kmsg.BrokerHeartbeatResponse)})
	}})
}

func (l *lifecycle) onHeartbeat(ctx *kit.Context, resp *kmsg.BrokerHeartbeatResponse) {
	switch code := kerr.Code(resp.ErrorCode); {
	case code == kerr.StaleBrokerEpoch || code == kerr.BrokerIDNotRegistered:
		l.registered = false
		ctx.After(retryAfter, &heartbeatDue{})
		return
	case code != kerr.None || resp.IsFenced && l.stopping == nil:
		ctx.After(retryAfter, &heartbeatDue{})
		return
	}
	if l.stopping != nil {
		if resp.ShouldShutdown {
			l.stopping.done()
			return
		}
		ctx.After(retryAfter, &heartbeatDue{})
		return
	}
	if !l.served {
		l.served = true
		l.serving()
	}
	ctx.After(l.every, &heartbeatDue{})
}

// registrationRequest tells the controller what this broker is (KIP-631). The incarnation is drawn by the actor.
func (b *Broker) registrationRequest() *kmsg.BrokerRegistrationRequest {
	req := kmsg.NewPtrBrokerRegistrationRequest()
	req.Version = req.MaxVersion()
	req.BrokerID, req.ClusterID = int32(b.cfg.NodeID), b.identity.clusterID
	req.PreviousBrokerEpoch = int64(b.previousEpoch())
	if b.cfg.Rack != "" {
		req.Rack = &b.cfg.Rack
	}
	for _, s := range b.sockets {
		if s.Controller || s.Advertised.Host == "" {
			continue
		}
		l := kmsg.NewBrokerRegistrationRequestListener()
		l.Name, l.Host, l.Port, l.SecurityProtocol = s.Name, s.Advertised.Host, s.Advertised.Port, 0
		req.Listeners = append(req.Listeners, l)
	}
	for _, f := range controller.SupportedFeatures {
		r := kmsg.NewBrokerRegistrationRequestFeature()
		r.Name, r.MinSupportedVersion, r.MaxSupportedVersion = f.Name, f.MinSupportedVersion, f.MaxSupportedVersion
		req.Features = append(req.Features, r)
	}
	for _, d := range b.dirs {
		req.LogDirs = append(req.LogDirs, d.ID)
	}
	return req
}

// previousEpoch is the broker epoch of the last stop if that was clean in every directory: only then is nothing missing
// that this broker acknowledged (KIP-966).
func (b *Broker) previousEpoch() model.BrokerEpoch {
	epoch := checkpoint.NoBrokerEpoch
	for i, d := range b.directories {
		if !d.clean || i > 0 && d.cleanEpoch != epoch {
			return checkpoint.NoBrokerEpoch
		}
		epoch = d.cleanEpoch
	}
	return epoch
}
