package broker

import (
	"fmt"
	"log/slog"
	"slices"
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

// lifecycleState is what the rest of the broker may know of its registration, and what outlives the actor's instances.
type lifecycleState struct {
	id    model.BrokerID
	value atomic.Int64 // the broker epoch
	// granted is when the last heartbeat was sent of those after which the controller let this broker lead on.
	granted atomic.Pointer[time.Time]
	// The rest is the actor's alone.
	controller kit.Ref // none until it is spawned
	served     bool
	short      []string // the log directories that have no room
}

// epoch is of the latest registration, and 0 before the first.
func (s *lifecycleState) epoch() model.BrokerEpoch { return model.BrokerEpoch(s.value.Load()) }

// held tells whether the controller cannot have fenced this broker for its silence yet: it counts from when a heartbeat came,
// this broker from when it was sent.
func (s *lifecycleState) held(now time.Time, session time.Duration) bool {
	at := s.granted.Load()
	return at != nil && now.Sub(*at) < session
}

// lifecycle registers this broker with the controller and keeps it unfenced by heartbeats (facts/replication.md 8).
type lifecycle struct {
	state      *lifecycleState
	request    *kmsg.BrokerRegistrationRequest
	enlistment *enlistment // nil for a node that is no controller
	source     *metadata.Source
	placement  *placement
	every      time.Duration // broker.heartbeat.interval.ms
	session    time.Duration // broker.session.timeout.ms
	judge      func()        // has leaders judge whether they are cut off
	within     time.Duration // initial.broker.registration.timeout.ms
	log        *slog.Logger
	fatal      func(error)
	note       func(model.BrokerEpoch) // told of each epoch that this broker gets
	quorum     *controller.Board
	serving    func() // called once, when the controller has unfenced this broker and its metadata says so

	registered   bool
	refused      kerr.Code // of the last registration: what repeats itself is told once
	told         bool      // of another process with this node.id
	stopping     *leave
	leavingSince time.Time
	yielded      time.Time  // when it last asked to be fenced: an answer from before says nothing of now
	next         *kit.Timer // of the next heartbeat or registration: there is one chain of them
	lapse        *kit.Timer // of the end of the session, and then each heartbeat interval
	lapsed       bool       // the session has ended
}

type (
	heartbeatDue struct{}
	// sessionDue comes when the session ends, and then each heartbeat interval.
	sessionDue struct{}
	// registrationOverdue ends a start whose controller is not to be reached.
	registrationOverdue struct{}
	registration        struct {
		resp *kmsg.BrokerRegistrationResponse
	}
	heartbeat struct {
		resp    *kmsg.BrokerHeartbeatResponse
		sent    time.Time // the request
		leaving bool      // it asked to
	}
	// leave asks for a controlled shutdown: leaderships move away first.
	leave struct{ done func() }
	// directoryFailed is told of a log directory that went offline: the controller hears of it at once.
	directoryFailed struct{}
	// shortageTold is told of a log directory that has no room from now on, or has room again.
	shortageTold struct {
		dir  string
		over bool
	}
)

func (*heartbeatDue) MessageKind() string        { return "lifecycle.heartbeat-due" }
func (*sessionDue) MessageKind() string          { return "lifecycle.session-due" }
func (*registrationOverdue) MessageKind() string { return "lifecycle.registration-overdue" }
func (*registration) MessageKind() string        { return "lifecycle.registration" }
func (*heartbeat) MessageKind() string           { return "lifecycle.heartbeat" }
func (*leave) MessageKind() string               { return "lifecycle.leave" }
func (*directoryFailed) MessageKind() string     { return "lifecycle.directory-failed" }
func (*shortageTold) MessageKind() string        { return "lifecycle.shortage-told" }

// Fail lets the shutdown go on without the controller.
func (m *leave) Fail(error) { m.done() }

const (
	// retryAfter is the pause after a refused registration or heartbeat.
	retryAfter = 50 * time.Millisecond
	// leaveAlone is how long a broker that stops looks for a controller, unless it is known that there can be none. Where too few
	// voters are left nobody can take over what it leads, and its logs are closed all the same.
	leaveAlone = 2 * time.Second
)

// Start registers anew in every incarnation: to the controller it is the same process (see registrationRequest).
func (l *lifecycle) Start(ctx *kit.Context) {
	if l.state.controller.IsZero() {
		return
	}
	ctx.After(l.within, &registrationOverdue{})
	l.register(ctx)
}

// Receive goes on with whatever the controller answers. A heartbeat that is due before a registration was accepted is a
// registration that is tried again.
func (l *lifecycle) Receive(ctx *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case *controllerSpawned:
		l.state.controller = m.controller
		l.Start(ctx)
	case *heartbeatDue:
		if l.registered {
			l.beat(ctx)
		} else {
			l.register(ctx)
		}
	case *sessionDue:
		l.sessionOver(ctx)
	case *registrationOverdue:
		if !l.state.served {
			l.fatal(fmt.Errorf("no controller accepted this broker within %s (initial.broker.registration.timeout.ms)%s", l.within, l.refusal()))
		}
	case *registration:
		l.onRegistration(ctx, m.resp)
	case *heartbeat:
		l.onHeartbeat(ctx, m)
	case *leave:
		l.stopping, l.leavingSince = m, ctx.Now()
		l.beat(ctx)
	case *directoryFailed:
		if l.registered {
			l.beat(ctx)
		}
	case *shortageTold:
		l.onShortage(ctx, m)
	case *replicaMoved:
		l.onReplicaMoved(ctx, m)
	case *enlisted:
		l.enlistment.answered(m.code)
	case *placed:
		l.onPlaced(ctx)
	}
}

// Crashed lets the shutdown go on without the controller.
func (l *lifecycle) Crashed(err error) {
	l.left()
	l.placement.abandon(err)
}

// Stopped answers those who wait for the metadata to say where a replica is.
func (l *lifecycle) Stopped(*kit.Context) { l.placement.abandon(kit.ErrStopped) }

// left ends a controlled shutdown, once: whoever waits for it goes on with the stop.
func (l *lifecycle) left() {
	if m := l.stopping; m != nil && m.done != nil {
		m.done()
		m.done = nil
	}
}

// after sets the one timer: a heartbeat that was due is replaced, or two chains of them would run.
func (l *lifecycle) after(ctx *kit.Context, d time.Duration) {
	if l.next != nil {
		l.next.Stop()
	}
	l.next = ctx.After(d, &heartbeatDue{})
}

func (l *lifecycle) register(ctx *kit.Context) {
	self := ctx.Self()
	ctx.Send(l.state.controller, &controller.Request{Body: l.request, Done: func(resp kmsg.Response) {
		self.Send(&registration{resp.(*kmsg.BrokerRegistrationResponse)})
	}})
}

// onRegistration takes the broker epoch; NOT_CONTROLLER is no reason to complain, since elections take their time.
func (l *lifecycle) onRegistration(ctx *kit.Context, resp *kmsg.BrokerRegistrationResponse) {
	if code := kerr.Code(resp.ErrorCode); code != kerr.None {
		l.refuse(code)
		l.after(ctx, retryAfter)
		return
	}
	l.registered = true
	l.state.value.Store(resp.BrokerEpoch)
	l.note(model.BrokerEpoch(resp.BrokerEpoch))
	l.enlistment.enlist(ctx, l.state.controller)
	l.beat(ctx)
}

// onShortage has the controller hear at once that what this broker leads cannot be written to.
func (l *lifecycle) onShortage(ctx *kit.Context, m *shortageTold) {
	l.state.short = slices.DeleteFunc(l.state.short, func(dir string) bool { return dir == m.dir })
	if m.over {
		return
	}
	l.state.short = append(l.state.short, m.dir)
	if l.registered {
		l.beat(ctx)
	}
}

// beat tells the controller that this broker lives, how far its metadata is (KIP-631), which of its directories failed
// (KIP-858) or take no new replicas (KIP-1066), whether it wants to stop, and whether others shall lead until there is room
// again in its directories. The controller unfences it when it has caught up. Where replicas lie is told first: a directory that
// fails is judged by what is known to lie in it.
func (l *lifecycle) beat(ctx *kit.Context) {
	l.place(ctx)
	req := kmsg.NewPtrBrokerHeartbeatRequest()
	req.Version = 2
	req.BrokerID, req.BrokerEpoch = int32(l.state.id), int64(l.state.epoch())
	req.CurrentMetadataOffset = int64(l.source.Image().Offset)
	if req.CurrentMetadataOffset >= req.BrokerEpoch { // else what was set dynamically may not be known yet
		req.CordonedLogDirs = l.placement.cordoned(l.source.Broker().CordonedDirs)
	}
	req.WantShutdown = l.stopping != nil
	req.WantFence = len(l.state.short) > 0
	req.OfflineLogDirs = l.placement.failed()
	self, sent, leaving := ctx.Self(), ctx.Now(), req.WantShutdown
	if req.WantFence {
		l.yielded = sent
		l.state.granted.Store(nil)
	}
	ctx.Send(l.state.controller, &controller.Request{Body: req, Done: func(resp kmsg.Response) {
		self.Send(&heartbeat{resp.(*kmsg.BrokerHeartbeatResponse), sent, leaving})
	}})
}

// onHeartbeat goes by the controller's word: an epoch that it does not know means to register anew, a fence to ask again
// soon. The broker serves from the first answer that does not fence it.
func (l *lifecycle) onHeartbeat(ctx *kit.Context, m *heartbeat) {
	resp, code := m.resp, kerr.Code(m.resp.ErrorCode)
	switch {
	case code == kerr.None && resp.IsFenced:
		l.state.granted.Store(nil)
	case code == kerr.None && !m.sent.Before(l.yielded):
		l.granted(ctx, m.sent)
	}
	switch {
	case code == kerr.StaleBrokerEpoch || code == kerr.BrokerIDNotRegistered:
		l.registered = false
		l.after(ctx, retryAfter)
		return
	case m.leaving && resp.ShouldShutdown:
		l.left()
		return
	case m.leaving && code == kerr.NotController && l.quorum.Status().Bereft:
		l.log.Info("too few voters run for a controller: this broker stops with what it leads")
		l.left()
		return
	case m.leaving && code == kerr.NotController && ctx.Now().Sub(l.leavingSince) >= leaveAlone:
		l.log.Warn("no controller is reached: this broker stops with what it leads", "reason", l.quorum.Lacks())
		l.left()
		return
	case code != kerr.None || resp.IsFenced || l.stopping != nil:
		l.after(ctx, retryAfter)
		return
	}
	if !l.state.served {
		l.state.served = true
		l.serving()
	}
	l.enlistment.enlist(ctx, l.state.controller)
	l.after(ctx, l.every)
}

// granted begins the session anew, unless that is over already. Leaders that were cut off lead on. It ends by a timer, too: a clock
// may be set back. Where that happened since the heartbeat was sent nobody knows how long ago that was, and the next one counts.
func (l *lifecycle) granted(ctx *kit.Context, sent time.Time) {
	ago := ctx.Now().Sub(sent)
	if ago < 0 || ago >= l.session {
		return
	}
	l.state.granted.Store(&sent)
	if l.lapsed {
		l.lapsed = false
		l.judge()
	}
	if l.lapse != nil {
		l.lapse.Stop()
	}
	l.lapse = ctx.After(l.session-ago, &sessionDue{})
}

// sessionOver has leaders judge whether they are cut off, until the session goes on.
func (l *lifecycle) sessionOver(ctx *kit.Context) {
	l.state.granted.Store(nil)
	l.lapsed = true
	l.judge()
	l.lapse = ctx.After(l.every, &sessionDue{})
}

// registrationRequest tells the controller what this broker is (KIP-631). Its incarnation is that of this process: an
// actor that registers again after a panic is the same to the controller.
func (b *Broker) registrationRequest() *kmsg.BrokerRegistrationRequest {
	req := kmsg.NewPtrBrokerRegistrationRequest()
	req.IncarnationID = b.incarnation
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

// previousEpoch is the broker epoch of the last life if nothing is missing in any directory that this broker acknowledged in
// it (KIP-966): because it stopped in order, or because it was killed under a kernel that runs on (docs/adr/0015).
func (b *Broker) previousEpoch() model.BrokerEpoch {
	epoch := checkpoint.NoBrokerEpoch
	for i, d := range b.directories {
		last := checkpoint.NoBrokerEpoch
		switch {
		case d.clean:
			last = d.cleanEpoch
		case d.kept:
			last = d.keptEpoch
		}
		if i > 0 && last != epoch {
			return checkpoint.NoBrokerEpoch
		}
		epoch = last
	}
	return epoch
}
