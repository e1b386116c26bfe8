package journal

import (
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"troupe/actors/kit"
	"troupe/internal/clock"
)

// stage is a journal whose lines the test reads.
type stage struct {
	clock   *clock.Manual
	order   *kit.Deterministic
	journal Journal
	ref     kit.Ref
	system  *kit.System
	log     strings.Builder
}

func newStage() *stage {
	s := &stage{clock: clock.NewManual(time.Unix(1_700_000_000, 0)), order: kit.NewDeterministic(1)}
	plain := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
			return slog.Attr{}
		}
		return a
	}}
	s.system = kit.NewSystem(kit.Options{Clock: s.clock, Dispatcher: s.order})
	s.ref = s.system.Spawn("journal", New(slog.New(slog.NewTextHandler(&s.log, plain))))
	s.journal = To(s.ref)
	return s
}

func (s *stage) expect(t *testing.T, want ...string) {
	t.Helper()
	s.order.Run(1 << 20)
	if got := strings.TrimSpace(s.log.String()); got != strings.Join(want, "\n") {
		t.Errorf("the log says\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	s.log.Reset()
}

func TestAnEventIsALine(t *testing.T) {
	s := newStage()
	s.journal.Tell(&Event{Kind: TopicCreated, Name: "orders", More: []slog.Attr{slog.Int("partitions", 3)}})
	s.journal.Tell(&Event{Kind: SegmentsExpired, Name: "orders-1", Segments: 2, Bytes: 300, More: []slog.Attr{slog.String("by", "retention.ms")}})
	s.expect(t, `msg="topic created" topic=orders partitions=3`,
		`msg="segments expired" partition=orders-1 by=retention.ms segments=2 bytes=300`)
	s.clock.Advance(window)
	s.expect(t, "")
}

func TestThousandsAtOnceAreFewLines(t *testing.T) {
	s := newStage()
	var want []string
	for i := range 5000 {
		if i < 10 {
			want = append(want, `msg="log deleted" partition=t-`+strconv.Itoa(i)+` bytes=100`)
		}
		s.journal.Tell(&Event{Kind: LogDeleted, Name: "t-" + strconv.Itoa(i), Bytes: 100})
	}
	s.expect(t, want...)
	s.clock.Advance(window)
	s.expect(t, `msg="log deleted" more=4990 last_partition=t-4999 bytes=499000`)
	// The next window begins anew.
	s.journal.Tell(&Event{Kind: LogDeleted, Name: "t-0", Bytes: 100})
	s.expect(t, want[0])
}

func TestTheEndOfTheBrokerTellsTheRest(t *testing.T) {
	s := newStage()
	for range 12 {
		s.journal.Tell(&Event{Kind: TopicDeleted, Name: "t"})
	}
	s.order.Run(1 << 20)
	s.log.Reset()
	s.system.Stop(s.ref)
	s.expect(t, `msg="topic deleted" more=2 last_topic=t`)
}

func TestAJournalOfNobodyTakesEvents(t *testing.T) {
	Journal{}.Tell(&Event{Kind: TopicCreated, Name: "t"})
}
