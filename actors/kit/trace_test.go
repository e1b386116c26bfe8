//go:build !notrace

package kit_test

import (
	"testing"
	"time"

	"troupe/actors/kit"
	"troupe/actors/trace"
)

// spansOf gives the recorded spans by receiver and kind, and fails on two of a name.
func spansOf(s *stage) map[string]trace.Span {
	s.t.Helper()
	spans := map[string]trace.Span{}
	for _, span := range s.tracer.Recent(1000) {
		key := span.Receiver + " " + span.Kind
		if _, twice := spans[key]; twice {
			s.t.Fatalf("two spans of %s", key)
		}
		spans[key] = span
	}
	return spans
}

func TestASampledRequestIsFollowedThroughTheActorsThatItReaches(t *testing.T) {
	eachSeed(t, func(s *stage) {
		s.tracer.SetRule(trace.Rule{OneIn: 1})
		disk := s.Spawn("disk", once(role{}))
		replica := s.Spawn("replica", once(role{receive: func(ctx *kit.Context, m kit.Message) {
			s.clock.Advance(3 * time.Millisecond)
			ctx.Send(disk, note("write"))
		}}))
		request := s.tracer.Start("connection", "Produce")
		replica.SendCaused(request.Context(), &ball{})
		s.clock.Advance(2 * time.Millisecond)
		s.settle()
		request.End()

		spans := spansOf(s)
		root, ball, write := spans["connection Produce"], spans["replica ball"], spans["disk note"]
		if root.TraceID == 0 || root.Cause != 0 || ball.TraceID != root.TraceID || write.TraceID != root.TraceID {
			t.Fatalf("the trace falls apart: %+v", spans)
		}
		if ball.Cause != root.SpanID || write.Cause != ball.SpanID || write.Sender != "replica" || write.Broker != 7 {
			t.Fatalf("causes or sender are wrong: %+v", spans)
		}
		if ball.Queued() != 2*time.Millisecond || ball.Handled() != 3*time.Millisecond {
			t.Fatalf("queued %v and handled %v, want 2 and 3 ms", ball.Queued(), ball.Handled())
		}
	})
}

func TestACoalescedWriteLinksEveryRequestAndAnswersEachInItsOwnTrace(t *testing.T) {
	s := newStage(t, 1)
	s.tracer.SetRule(trace.Rule{OneIn: 1})
	replica := s.Spawn("replica", once(role{}))
	var waiting []kit.Message
	lane := s.Spawn("lane", once(role{
		receive: func(ctx *kit.Context, m kit.Message) {
			ctx.Link(m)
			waiting = append(waiting, m)
		},
		endBatch: func(ctx *kit.Context) {
			for _, m := range waiting {
				ctx.SendFor(m, replica, note("written"))
			}
		},
	}))
	requests := make([]trace.Activity, 3)
	for i := range requests {
		requests[i] = s.tracer.Start("connection", "Produce")
		lane.SendCaused(requests[i].Context(), &ball{})
	}
	lane.Send(&ball{}) // one that is not traced, in the same write
	s.settle()

	var work trace.Span
	appends := map[trace.Context]bool{}
	answers := map[trace.TraceID]trace.SpanID{}
	for _, span := range s.tracer.Recent(1000) {
		switch span.Receiver + " " + span.Kind {
		case "lane EndBatch":
			work = span
		case "lane ball":
			appends[trace.Context{Trace: span.TraceID, Span: span.SpanID}] = true
		case "replica note":
			answers[span.TraceID] = span.Cause
		}
	}
	if len(work.Links) != len(requests) {
		t.Fatalf("the write links %d messages, want %d", len(work.Links), len(requests))
	}
	for _, link := range work.Links {
		if !appends[link] {
			t.Fatalf("the write links %v, which is none of the appends %v", link, appends)
		}
	}
	for _, r := range requests {
		if answers[r.Context().Trace] != work.SpanID {
			t.Fatalf("the answers are caused by %v, want each by the write %v", answers, work.SpanID)
		}
	}
}

func TestAMessageThatAnActorPanicsOnHasASpanToo(t *testing.T) {
	s := newStage(t, 1)
	s.tracer.SetRule(trace.Rule{Filters: []trace.Filter{{ActorKind: "role", Message: "ball"}}})
	a := s.Spawn("a", cast(func() *role {
		return &role{receive: func(_ *kit.Context, m kit.Message) {
			if _, ok := m.(*ball); ok {
				s.clock.Advance(time.Second)
				panic("boom")
			}
		}}
	}))
	a.Send(note("not asked for"))
	a.Send(&ball{})
	s.settle()
	spans := spansOf(s)
	if got := spans["a ball"]; len(spans) != 1 || got.Handled() != time.Second {
		t.Fatalf("spans: %+v, want one of the ball that took a second", spans)
	}
}

func TestACoalescedWriteThatPanicsHasASpanAndLeavesNoCauseBehind(t *testing.T) {
	s := newStage(t, 1)
	s.tracer.SetRule(trace.Rule{OneIn: 1})
	lane := s.Spawn("lane", cast(func() *role {
		return &role{
			receive:  func(ctx *kit.Context, m kit.Message) { ctx.Link(m) },
			endBatch: func(*kit.Context) { panic("boom") },
		}
	}))
	lane.SendCaused(s.tracer.Start("connection", "Produce").Context(), &ball{})
	s.settle()
	spans := spansOf(s)
	if work := spans["lane EndBatch"]; work.Cause == 0 || work.Cause != spans["lane ball"].SpanID {
		t.Fatalf("spans: %+v, want one of the write, caused by the append", spans)
	}
}

func TestAFilterTracesTimersToo(t *testing.T) {
	s := newStage(t, 1)
	s.tracer.SetRule(trace.Rule{Filters: []trace.Filter{{Message: "note"}}})
	s.Spawn("a", once(role{start: func(ctx *kit.Context) { ctx.After(time.Second, note("tick")) }}))
	s.settle()
	s.clock.Advance(time.Second)
	s.settle()
	if tick := spansOf(s)["a note"]; tick.TraceID == 0 || tick.Sender != "a" || tick.Queued() != 0 {
		t.Fatalf("the timer's span is %+v, want one that a sent itself", tick)
	}
}

func TestNothingIsTracedUnlessAsked(t *testing.T) {
	s := newStage(t, 1)
	a := s.Spawn("a", once(role{}))
	request := s.tracer.Start("connection", "Produce")
	a.SendCaused(request.Context(), note("m"))
	s.settle()
	request.End()
	if spans := s.tracer.Recent(10); request.Context().Traced() || len(spans) != 0 {
		t.Fatalf("traced %v", spans)
	}
}
