package metadata

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/actors/disk"
	"troupe/actors/journal"
	"troupe/actors/kit"
	"troupe/actors/replica"
	"troupe/cluster/image"
	"troupe/cluster/record"
	"troupe/configs"
	"troupe/internal/clock"
	"troupe/internal/model"
)

// stage is a metadata actor whose shard is the test's: it takes orders when the test lets it.
type stage struct {
	t      *testing.T
	clock  *clock.Manual
	order  *kit.Deterministic
	system *kit.System
	deps   Deps
	actor  kit.Ref
	editor *image.Editor
	held   []*replica.Host
	hold   bool
	events []string
}

// Receive is the shard's.
func (s *stage) Receive(_ *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case *replica.Host:
		s.note("host %s", m.Handle.TP)
		if s.hold {
			s.held = append(s.held, m)
			return
		}
		m.Done()
	case *replica.Drop:
		s.note("drop %s", m.Handle.TP)
	case *journal.Event:
		s.note("told of %d: %s", m.Kind, m.Name)
	case *replica.Order:
		s.note("order %s", m.Message.MessageKind())
	}
}

func (s *stage) note(format string, args ...any) {
	s.events = append(s.events, fmt.Sprintf(format, args...))
}

func newStage(t *testing.T, found ...map[model.TopicPartition][]Found) *stage {
	t.Helper()
	s := &stage{t: t, clock: clock.NewManual(time.Unix(1_700_000_000, 0)), order: kit.NewDeterministic(1)}
	s.system = kit.NewSystem(kit.Options{Clock: s.clock, Dispatcher: s.order})
	shard := s.system.Spawn("shard", kit.Props{Kind: "test", New: func() kit.Behavior { return s }})
	source := NewSource("c", configs.Layers{Static: map[string]string{}}, &configs.Broker{NodeID: 1})
	s.deps = Deps{
		Self: 1, Source: source, Replicas: replica.NewDirectory(), Shards: []kit.Ref{shard}, Dirs: []*disk.Dir{{Path: "/data"}},
		Log: slog.New(slog.DiscardHandler), Settled: func(logs int) { s.note("settled with %d", logs) },
	}
	for _, f := range found {
		s.deps.Found = f
	}
	s.actor = s.system.Spawn("metadata", New(s.deps))
	s.editor = source.Image().Edit()
	s.run()
	return s
}

func (s *stage) run() {
	s.order.Run(10_000)
	s.clock.Advance(time.Second)
	s.order.Run(10_000)
}

// topics makes the image of an offset with topics of one partition each, by name.
func (s *stage) topics(offset model.Offset, names ...string) image.Delta {
	s.t.Helper()
	for _, name := range names {
		id := model.TopicID{}
		copy(id[:], name)
		p := &record.Partition{
			TopicID: id, Replicas: []model.BrokerID{1}, ISR: []model.BrokerID{1}, Leader: 1,
		}
		for _, r := range []record.Record{&record.Topic{Name: name, ID: id}, p} {
			if err := s.editor.Apply(offset, 1, r); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	_, d := s.editor.Publish()
	return d
}

func (s *stage) apply(d image.Delta, complete bool) {
	s.actor.Send(&Apply{Delta: d, Complete: complete, Then: func() { s.note("then %d", d.To.Offset) }})
}

func (s *stage) expect(want ...string) {
	s.t.Helper()
	s.run()
	if got := strings.Join(s.events, "; "); got != strings.Join(want, "; ") {
		s.t.Fatalf("happened: %s\nwant: %s", got, strings.Join(want, "; "))
	}
	s.events = nil
}

func TestAnImageIsPublishedWhenItsOrdersAreTaken(t *testing.T) {
	s := newStage(t)
	s.hold = true
	s.apply(s.topics(10, "a"), true)
	s.apply(s.topics(11, "b"), true)
	s.expect("settled with 0", "host a-0")
	if s.deps.Source.Image().Offset >= 10 {
		t.Error("the image is published before the replica has its actor")
	}
	s.hold = false
	s.held[0].Done()
	s.expect("then 10", "host b-0", "then 11")
	if got := s.deps.Source.Image().Offset; got != 11 {
		t.Errorf("the image published is that of offset %d", got)
	}
}

// Both changes are in one image: else acks=all could be answered between them by the smaller of both numbers.
func TestALeaderHearsOfSettingsBeforeItHearsOfAnISR(t *testing.T) {
	s := newStage(t)
	s.apply(s.topics(10, "a"), true)
	s.expect("settled with 0", "host a-0", "then 10")
	shrunk := record.NewPartitionChange(0, model.TopicID{'a'})
	shrunk.ISR = []model.BrokerID{1}
	two := "2"
	for _, r := range []record.Record{&record.Config{ResourceType: 2, ResourceName: "a", Name: "min.insync.replicas", Value: &two}, shrunk} {
		if err := s.editor.Apply(11, 1, r); err != nil {
			t.Fatal(err)
		}
	}
	_, d := s.editor.Publish()
	s.apply(d, true)
	s.run()
	orders := slices.DeleteFunc(s.events, func(e string) bool { return !strings.HasPrefix(e, "order ") })
	if want := []string{"order replica.configure", "order replica.become-leader"}; !slices.Equal(orders, want) {
		t.Errorf("the replica hears %q, want %q", orders, want)
	}
}

// What was committed before a start comes in pieces, where the leader of the quorum was started, too: the first may end with a
// checkpoint from before the topic was deleted and made again. The log that is here is that of the later topic, and is not set
// aside for the one before.
func TestALogIsNotSetAsideForATopicOfAnImageThatIsNotComplete(t *testing.T) {
	tp, now := model.TopicPartition{Topic: "a"}, model.TopicID{15: 2}
	s := newStage(t, map[model.TopicPartition][]Found{tp: {{Dir: &disk.Dir{Path: "/data"}, TopicID: now, HighWatermark: 698}}})
	s.apply(s.topics(10, "a"), false)
	s.expect("then 10")
	for _, r := range []record.Record{
		&record.RemoveTopic{ID: model.TopicID{'a'}}, &record.Topic{Name: "a", ID: now},
		&record.Partition{TopicID: now, Replicas: []model.BrokerID{1}, ISR: []model.BrokerID{1}, Leader: 1},
	} {
		if err := s.editor.Apply(12, 1, r); err != nil {
			t.Fatal(err)
		}
	}
	_, d := s.editor.Publish()
	s.apply(d, false)
	s.expect("then 12")
	s.hold = true
	s.apply(image.Diff(d.To, d.To), true)
	s.expect("settled with 1", "host a-0")
	if h := s.held[0]; h.Handle.TopicID != now || h.Fresh || h.HighWatermark != 698 {
		t.Errorf("the replica is of topic %s, fresh: %v, its high watermark is %d", h.Handle.TopicID, h.Fresh, h.HighWatermark)
	}
}

// A controller that begins anew replays its log: what it hands over first is older than what this broker has applied.
func TestAnOlderImageDeletesNothing(t *testing.T) {
	s := newStage(t)
	old := s.topics(5)
	s.apply(s.topics(10, "a", "b"), true)
	s.expect("settled with 0", "host a-0", "host b-0", "then 10")
	s.apply(old, false)
	s.expect("then -1")
	if s.deps.Source.Image().Offset != 10 {
		t.Errorf("the image went back to offset %d", s.deps.Source.Image().Offset)
	}
	// The next one begins at an image that this actor never saw.
	again := image.Empty("c").Edit()
	s.editor = again
	s.apply(s.topics(12, "a", "b", "c"), true)
	s.expect("host c-0", "then 12")
}

func TestAPanicLosesNoImageAndNoAnswer(t *testing.T) {
	s := newStage(t)
	s.hold = true
	s.apply(s.topics(10, "a"), true)
	s.apply(s.topics(11, "b"), true)
	s.expect("settled with 0", "host a-0")
	s.actor.Panic()
	s.run()
	s.hold = false
	for _, h := range s.held {
		h.Done() // answers to the former incarnation
	}
	s.actor.Panic()
	s.run()
	if got := s.deps.Source.Image().Offset; got != 11 {
		t.Fatalf("the image published is that of offset %d: %v", got, s.events)
	}
	thens := 0
	for _, e := range s.events {
		if strings.HasPrefix(e, "then") {
			thens++
		}
		if strings.HasPrefix(e, "drop") || strings.HasPrefix(e, "settled") {
			t.Errorf("after a panic: %s", e)
		}
	}
	if thens != 2 {
		t.Errorf("answers: %v, want each once", s.events)
	}
}
