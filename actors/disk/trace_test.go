//go:build !notrace

package disk_test

import (
	"testing"
	"time"

	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/actors/trace"
	"troupe/internal/clock"
	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog"
)

// owner sends appends to a lane and hears of their ends.
type owner struct{}

func (owner) Receive(*kit.Context, kit.Message) {}

func TestACoalescedWriteLinksEveryAppendAndReportsToEachInItsTrace(t *testing.T) {
	now := clock.NewManual(time.Unix(1000, 0))
	tracer := trace.New(trace.Options{Clock: now, Seed: 1})
	order := kit.NewDeterministic(1)
	system := kit.NewSystem(kit.Options{Clock: now, Dispatcher: order, Trace: tracer})
	env := partitionlog.NewEnv(vfs.NewCrashFS(1, now), vfs.NewDescriptors(1000))
	dir := disk.Open(system, env, "/data", model.DirectoryID{1}, disk.Lanes{}, kit.Ref{})
	spawn := func(name string) kit.Ref {
		return system.Spawn(name, kit.Props{Kind: "owner", New: func() kit.Behavior { return owner{} }})
	}
	owners := []kit.Ref{spawn("a"), spawn("b"), spawn("c")}
	order.Run(1000)

	tracer.SetRule(trace.Rule{OneIn: 1})
	lane := dir.AppendLane(model.TopicPartition{Topic: "orders"})
	requests := map[trace.TraceID]string{}
	for i, o := range owners {
		var cause trace.Context
		if i < 2 { // the third is not traced, and shares the write all the same
			cause = tracer.Start("connection", "Produce").Context()
			requests[cause.Trace] = o.Name()
		}
		lane.SendCaused(cause, &disk.Appends{Owner: o, Incarnation: 1})
	}
	order.Run(1000)

	var write trace.Span
	appends, finished := map[trace.Context]bool{}, map[trace.TraceID]trace.Span{}
	for _, s := range tracer.Recent(100) {
		switch s.Kind {
		case "EndBatch":
			write = s
		case "disk.appends":
			appends[trace.Context{Trace: s.TraceID, Span: s.SpanID}] = true
		case "disk.finished":
			if s.Receiver == requests[s.TraceID] { // that of the third goes out in the write's own trace
				finished[s.TraceID] = s
			}
		}
	}
	if len(appends) != 2 || len(write.Links) != 2 || !appends[write.Links[0]] || !appends[write.Links[1]] {
		t.Errorf("the write links %v, want the appends %v", write.Links, appends)
	}
	for id, name := range requests {
		if s := finished[id]; s.Receiver != name || s.Cause != write.SpanID {
			t.Errorf("of the append of %s the end came as %+v, want it caused by the write %v", name, s, write.SpanID)
		}
	}
}
