package lag_test

import (
	"testing"
	"time"

	"troupe/actors/kit"
	"troupe/actors/lag"
	"troupe/codec/kerr"
	"troupe/internal/clock"
	"troupe/internal/model"
	"troupe/internal/vfs"
)

// stepped is a world in one order of one seed, by a clock of its own, over a disk in memory.
type stepped struct {
	*world
	clock *clock.Manual
	order *kit.Deterministic
}

const every = 10 * time.Second

// began is the second of the first record, and now the one at which the world begins, behind those of all records.
const began, now = 1_700_000_000, 1_700_020_000

func newStepped(t *testing.T, seed uint64) *stepped {
	t.Helper()
	c, order := clock.NewManual(seconds(now)), kit.NewDeterministic(seed)
	fs := vfs.NewCrashFS(seed, c)
	if err := fs.MkdirAll("/data", 0o755); err != nil {
		t.Fatal(err)
	}
	s := &stepped{world: newWorld(t, c, fs, "/data", every, lag.Options{SeriesMax: 100}, order), clock: c, order: order}
	s.coordinate()
	s.pass(time.Second)
	return s
}

// pass lets the actors work for so long.
func (s *stepped) pass(d time.Duration) {
	s.t.Helper()
	const step = time.Millisecond
	for s.order.Run(1 << 20); d > 0; d -= step {
		s.clock.Advance(step)
		s.order.Run(1 << 20)
	}
}

// fill appends batches of ten records, a record a second, from second 0 of the world on.
func (s *stepped) fill(at model.TopicPartition, batches int64) {
	s.t.Helper()
	h := s.lead(at)
	s.pass(10 * time.Millisecond)
	left := batches
	for i := range batches {
		s.append(h, began+10*i, 10, func() { left-- })
		s.order.Run(1 << 20)
	}
	if left != 0 {
		s.t.Fatalf("%d batches are not appended", left)
	}
}

func (s *stepped) committed(id string, at model.TopicPartition, o model.Offset) {
	s.t.Helper()
	done := false
	s.commit(id, func(code kerr.Code) { done = code == kerr.None }, commit(at, o))
	s.pass(10 * time.Millisecond)
	if !done {
		s.t.Fatalf("the commit of %s is not taken", id)
	}
}

// behind gives the groups of the last report.
func (s *stepped) behind() map[string]lag.Group {
	s.t.Helper()
	r := s.board.Last()
	if r == nil {
		s.t.Fatal("there is no report")
	}
	groups := map[string]lag.Group{}
	for _, g := range r.Groups {
		groups[g.ID] = g
	}
	return groups
}

func TestLagComesFromTheLogsNearTheEndAndFarFromIt(t *testing.T) {
	for seed := range uint64(10) {
		s := newStepped(t, seed)
		s.fill(tp("long", 0), 1000) // the batch of offset o begins at second o/10*10
		s.fill(tp("short", 0), 1)
		for id, o := range map[string]model.Offset{"first": 0, "far": 1234, "near": 9981, "done": 10_000} {
			s.committed(id, tp("long", 0), o)
		}
		s.committed("near", tp("short", 0), 9)
		s.pass(every)
		at := s.board.Last().At
		for id, want := range map[string]struct{ sum, second int64 }{
			"first": {10_000, 0}, "far": {8766, 1230}, "near": {20, 0}, "done": {0, -1},
		} {
			g := s.behind()[id]
			// "near" has the first record of the short log's batch: off by one batch, which spans ten seconds.
			age := at.Sub(seconds(began + want.second))
			if want.second < 0 {
				age = 0
			}
			if g.Sum != want.sum || g.Age != age || !g.Dated {
				t.Errorf("seed %d, %s: %+v, want %d records and %v", seed, id, g, want.sum, age)
			}
		}
		if r := s.board.Last(); r.Offsets != 5 || r.Unknown != 0 || r.Coordinators != (lag.Coordinators{Active: 1}) {
			t.Errorf("seed %d: %d offsets, %d unknown, %+v", seed, r.Offsets, r.Unknown, r.Coordinators)
		}
	}
}

func TestAgesGrowWhileAGroupStandsStill(t *testing.T) {
	s := newStepped(t, 1)
	s.fill(tp("t", 0), 2)
	s.committed("g", tp("t", 0), 10)
	s.pass(every)
	before := s.board.Last().At
	first := s.behind()["g"].Age
	s.pass(every)
	if grown := s.behind()["g"].Age - first; grown != s.board.Last().At.Sub(before) || grown <= 0 {
		t.Errorf("in %v it grew by %v", s.board.Last().At.Sub(before), grown)
	}
	s.committed("g", tp("t", 0), 20)
	s.pass(every)
	if g := s.behind()["g"]; g.Sum != 0 || g.Age != 0 || !g.Dated {
		t.Errorf("it has read all and is %+v", g)
	}
}

func TestABrokerThatDoesNotAnswerHoldsUpNobody(t *testing.T) {
	s := newStepped(t, 1)
	s.fill(tp("here", 0), 1)
	s.elsewhere["there"] = true
	s.committed("both", tp("here", 0), 3)
	s.committed("both", tp("there", 0), 3)
	s.pass(2 * every)
	if g := s.behind()["both"]; g.Sum != 7 || s.board.Last().Unknown != 1 {
		t.Errorf("%+v, %d unknown; want 7 records and 1", g, s.board.Last().Unknown)
	}
	if len(s.held) != 1 {
		t.Fatalf("it was asked %d times while it owed an answer", len(s.held))
	}
	told := []lag.Answer{{At: tp("there", 0), End: 5, Times: []int64{began * 1000}}}
	s.held[0].Give(told)
	s.pass(time.Second)
	if g := s.behind()["both"]; g.Sum != 9 || s.board.Last().Unknown != 0 {
		t.Errorf("after its answer: %+v, %d unknown", g, s.board.Last().Unknown)
	}
	// When it never answers it is asked again in the end, and an answer to what is over is not taken.
	s.pass(8 * every)
	if len(s.held) < 3 {
		t.Fatalf("it was asked %d times", len(s.held))
	}
	s.held[len(s.held)-2].Give(told)
	s.pass(time.Second)
	if s.board.Last().Unknown != 1 {
		t.Error("an answer to a round that is over is taken")
	}
}

func TestLeadersAreAskedOnceARound(t *testing.T) {
	s := newStepped(t, 1)
	s.elsewhere["there"], s.refuses = true, true
	for n := range int32(20) {
		s.committed("a", tp("there", n), 3)
		s.committed("b", tp("there", n), 4)
	}
	asked := len(s.held)
	s.pass(3 * every)
	if got := len(s.held) - asked; got != 3 {
		t.Errorf("the broker was asked %d times in 3 rounds", got)
	}
}

func TestAPartitionThatIsNotLedHereIsLeftOut(t *testing.T) {
	s := newStepped(t, 1)
	s.committed("g", tp("unknown", 0), 3)
	s.pass(2 * every)
	if len(s.behind()) != 0 || s.board.Last().Unknown != 1 {
		t.Errorf("%v, %d unknown", s.behind(), s.board.Last().Unknown)
	}
}
