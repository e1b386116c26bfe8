package broker

import (
	"log/slog"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/api"
	"troupe/actors/controller"
	"troupe/actors/coordinator"
	"troupe/actors/group"
	"troupe/actors/kit"
	"troupe/actors/metadata"
	"troupe/cluster/image"
	"troupe/cluster/record"
	"troupe/codec/kerr"
	"troupe/configs"
)

// enlistment tells the cluster where this node's controller is reached (KIP-919), once an incarnation. It is described to
// clients, and a new voter is recognized by it.
type enlistment struct {
	request *kmsg.ControllerRegistrationRequest
	source  *metadata.Source
	log     *slog.Logger
	begun   bool // it is under way or done
	refused kerr.Code
}

// enlisted is the controller's answer.
type enlisted struct{ code kerr.Code }

func (*enlisted) MessageKind() string { return "lifecycle.enlisted" }

// enlistment is nil for a node that is no controller.
func (b *Broker) enlistment() *enlistment {
	if !b.cfg.Roles.Controller {
		return nil
	}
	return &enlistment{request: b.enlistmentRequest(), source: b.source, log: b.log}
}

// known tells whether the metadata has it, or is of a version that cannot. A quorum that has just been founded has none yet.
func (e *enlistment) known() bool {
	i := e.source.Image()
	if i.MetadataVersion() < record.ControllerRegistrations {
		return !e.early()
	}
	for c := range i.Controllers() {
		if int32(c.ControllerID) == e.request.ControllerID && c.IncarnationID == e.request.IncarnationID {
			return true
		}
	}
	return false
}

// early tells that the quorum has not written its first records yet.
func (e *enlistment) early() bool { return e.source.Image().Feature(image.MetadataVersionFeature) == 0 }

// other is where the process listens that is registered as the controller of this number.
func (e *enlistment) other() string {
	for c := range e.source.Image().Controllers() {
		if int32(c.ControllerID) == e.request.ControllerID && len(c.Endpoints) > 0 {
			return configs.Endpoint{Host: c.Endpoints[0].Host, Port: c.Endpoints[0].Port}.String()
		}
	}
	return "unknown"
}

// enlist asks for it, unless that is needless. It is called now and then, since the metadata that it goes by may be behind at
// first.
func (e *enlistment) enlist(ctx *kit.Context, with kit.Ref) {
	if e == nil || e.begun || e.known() || e.early() {
		return
	}
	e.begun = true
	self := ctx.Self()
	ctx.Send(with, &controller.Request{Body: e.request, Done: func(resp kmsg.Response) {
		self.Send(&enlisted{kerr.Code(resp.(*kmsg.ControllerRegistrationResponse).ErrorCode)})
	}})
}

// answered has the next call try again where it was refused; an election takes its time.
func (e *enlistment) answered(code kerr.Code) {
	e.begun = code == kerr.None
	switch {
	case e.begun || code == kerr.NotController || code == e.refused:
	case code == kerr.DuplicateBrokerRegistration && len(e.request.Listeners) > 0:
		l := e.request.Listeners[0]
		e.log.Warn("the controller of this node is not registered, trying again: another process with this node.id is in the cluster",
			"node", e.request.ControllerID, "here", configs.Endpoint{Host: l.Host, Port: l.Port}.String(), "other", e.other(), "code", code.Name())
	default:
		e.log.Warn("the controller of this node is not registered, trying again", "code", code.Name(), "err", code.Error())
	}
	e.refused = code
}

// enlistmentRequest has the listeners that controllers are reached at, and where none is set aside for them, the one between
// brokers.
func (b *Broker) enlistmentRequest() *kmsg.ControllerRegistrationRequest {
	req := kmsg.NewPtrControllerRegistrationRequest()
	req.Version = req.MaxVersion()
	req.ControllerID, req.IncarnationID = int32(b.cfg.NodeID), b.incarnation
	apart := slices.ContainsFunc(b.sockets, func(s boundListener) bool { return s.Controller })
	for _, s := range b.sockets {
		if s.Controller != apart || !apart && s.Name != b.cfg.InterBroker {
			continue
		}
		l := kmsg.NewControllerRegistrationRequestListener()
		l.Name, l.Host, l.Port = s.Name, s.Advertised.Host, s.Advertised.Port
		req.Listeners = append(req.Listeners, l)
	}
	for _, f := range controller.SupportedFeatures {
		r := kmsg.NewControllerRegistrationRequestFeature()
		r.Name, r.MinSupportedVersion, r.MaxSupportedVersion = f.Name, f.MinSupportedVersion, f.MaxSupportedVersion
		req.Features = append(req.Features, r)
	}
	return req
}

// attendance is the part of lifecycle for a node that is a controller alone. It serves when it has all the metadata that was
// committed before its start, and the cluster knows where it is reached.
type attendance struct {
	*enlistment
	state    *lifecycleState
	complete func() bool
	every    time.Duration
	serving  func()
}

// attendanceDue is the next look at what is missing.
type attendanceDue struct{}

func (*attendanceDue) MessageKind() string { return "lifecycle.attendance-due" }

// spawnAttendance takes the place of all that a broker has. What the warden tells of directories concerns brokers alone.
func (b *Broker) spawnAttendance(serving func()) {
	b.groups = api.Groups{Directory: coordinator.NewDirectory(), Counters: &group.Counters{}}
	b.refs.lifecycle = b.system.Spawn("lifecycle", kit.Props{Kind: "lifecycle", New: func() kit.Behavior {
		return &attendance{enlistment: b.enlistment(), state: b.lifecycle, complete: b.opening.ended, every: b.cfg.Membership.Heartbeat, serving: serving}
	}})
}

// Start goes on after a panic.
func (a *attendance) Start(ctx *kit.Context) {
	if !a.state.controller.IsZero() {
		a.look(ctx)
	}
}

// Receive is part of kit.Behavior.
func (a *attendance) Receive(ctx *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case *controllerSpawned:
		a.state.controller = m.controller
		a.look(ctx)
	case *attendanceDue:
		a.look(ctx)
	case *enlisted:
		a.answered(m.code)
	}
}

// look goes on for the life of the process: a cluster that is upgraded takes registrations from then on.
func (a *attendance) look(ctx *kit.Context) {
	if !a.complete() {
		ctx.After(retryAfter, &attendanceDue{})
		return
	}
	a.enlist(ctx, a.state.controller)
	if !a.known() {
		ctx.After(retryAfter, &attendanceDue{})
		return
	}
	a.serving()
	ctx.After(a.every, &attendanceDue{})
}
