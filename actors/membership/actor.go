package membership

import (
	"context"
	"log/slog"
	"time"

	"troupe/actors/controller"
	"troupe/actors/kit"
	"troupe/actors/peer"
	"troupe/internal/model"
)

// toldEvery parts two lines about what was refused, or about two processes with one number: packets must not fill the log.
const toldEvery = time.Minute

// actor passes on what the machine decides. The machine outlives it: nobody would tell it all again.
type actor struct {
	deps    Deps
	machine *machine
	timer   *kit.Timer
	refused struct {
		count int // since the last line
		told  time.Time
	}
	doubled map[model.BrokerID]time.Time // when it was last said of a number
}

// New makes the `membership` actor of a node that gossips.
func New(d Deps) kit.Props {
	m := newMachine(d.Self.NodeID)
	return kit.Props{Kind: "membership", New: func() kit.Behavior { return &actor{deps: d, machine: m} }}
}

// Start goes on from what the last incarnation knew.
func (a *actor) Start(ctx *kit.Context) { a.follow(ctx, a.machine.tick(ctx.Now())) }

// Receive is part of kit.Behavior.
func (a *actor) Receive(ctx *kit.Context, m kit.Message) {
	now := ctx.Now()
	switch m := m.(type) {
	case *Joined:
		a.follow(ctx, a.machine.join(now, m.Record))
	case *Doubted:
		a.follow(ctx, a.machine.doubt(now, m.ID))
	case *Failed:
		a.follow(ctx, a.machine.fail(now, m.ID))
	case *Farewell:
		a.follow(ctx, a.machine.farewell(now, m.ID, m.Incarnation))
	case *due:
		a.timer = nil
		a.follow(ctx, a.machine.tick(now))
	case *Refused:
		a.refuse(now, m.Reason)
	case *Duplicate:
		a.double(now, m)
	}
}

// follow does what the machine decided.
func (a *actor) follow(ctx *kit.Context, s step) {
	for _, l := range s.lines {
		a.say(ctx.Now(), l)
	}
	if s.changed {
		a.publish(ctx)
	}
	if s.hint != model.NoBroker {
		a.deps.Board.hints.Add(1)
		ctx.Send(a.deps.Controller, &controller.Suspected{Node: s.hint})
	}
	if s.back != model.NoBroker {
		a.deps.Links.Met(s.back)
	}
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
	if !s.wake.IsZero() {
		a.timer = ctx.After(max(s.wake.Sub(ctx.Now()), 0), &due{})
	}
}

// publish shows the members, and tells the links where they are.
func (a *actor) publish(ctx *kit.Context) {
	members := a.machine.list()
	a.deps.Board.members.Store(&members)
	know := &peer.Know{Source: "membership", Hint: true}
	for _, m := range members {
		know.Nodes = append(know.Nodes, peer.Node{ID: m.NodeID, Controller: m.Controller, Broker: m.Broker})
	}
	ctx.Send(a.deps.Peers, know)
}

// say writes what a person wants to know: a warning where a node does not answer, news otherwise.
func (a *actor) say(now time.Time, l line) {
	m := &l.member
	attrs := []any{"node", m.NodeID, "at", where(&m.Record)}
	level, text := slog.LevelInfo, ""
	switch l.event {
	case joined:
		text = "node is there"
		if m.Rack != "" {
			attrs = append(attrs, "rack", m.Rack)
		}
	case restarted:
		text = "node was started again"
	case answering:
		text = "node answers again"
	case left:
		text = "node leaves"
	case suspected:
		level, text = slog.LevelWarn, "node answers nobody"
	case forgotten:
		text, attrs = "node is forgotten", append(attrs, "silent", now.Sub(m.Since).Round(time.Second))
	}
	a.deps.Log.Log(context.Background(), level, text, attrs...)
}

// where is an address at which a person may look for the node.
func where(r *Record) string {
	if r.Broker.Host != "" {
		return r.Broker.String()
	}
	return r.Controller.String()
}

// refuse counts, and says so once in a while.
func (a *actor) refuse(now time.Time, reason string) {
	a.deps.Board.refused.Add(1)
	a.refused.count++
	if a.refused.told.IsZero() || now.Sub(a.refused.told) >= toldEvery {
		a.deps.Log.Warn("gossip refused", "count", a.refused.count, "last", reason)
		a.refused.count, a.refused.told = 0, now
	}
}

// double says so once in a while of each number: memberlist finds it again with every packet.
func (a *actor) double(now time.Time, m *Duplicate) {
	if told, ok := a.doubled[m.One.NodeID]; ok && now.Sub(told) < toldEvery {
		return
	}
	if a.doubled == nil {
		a.doubled = map[model.BrokerID]time.Time{}
	}
	a.doubled[m.One.NodeID] = now
	a.deps.Log.Error("two processes have one node.id", "node", m.One.NodeID, "one", where(&m.One), "other", where(&m.Other))
}
