package throttle

import (
	"math/rand/v2"
	"testing"
	"time"

	"troupe/internal/model"
)

var (
	start   = time.Unix(1000, 0)
	windows = Windows{Count: 11, Length: time.Second}
)

func after(seconds float64) time.Time {
	return start.Add(time.Duration(seconds * float64(time.Second)))
}

// move is so many bytes at so many seconds after the start.
type move struct {
	at    float64
	bytes int64
}

// Kafka's SimpleRate: what the windows hold, over the time since the first of them began but at least over one window; a
// window is forgotten eleven seconds after its last bytes.
func TestARateIsTakenOverTheWindowsSinceTheFirst(t *testing.T) {
	for title, c := range map[string]struct {
		moves []move
		at    float64
		want  float64
	}{
		"nothing was moved":                              {nil, 5, 0},
		"less than a window counts as one":               {[]move{{0, 1000}}, 0.1, 1000},
		"after two windows half as much":                 {[]move{{0, 1000}}, 2, 500},
		"all windows together":                           {[]move{{0, 1000}, {1, 1000}, {2, 2000}}, 4, 1000},
		"what comes within a window belongs to it":       {[]move{{0, 1000}, {0.9, 1000}, {1.1, 2000}}, 2, 2000},
		"a window is forgotten eleven seconds later":     {[]move{{0, 1000}}, 11, 0},
		"the rest is over the time since the next began": {[]move{{0, 1000}, {5, 3000}}, 11, 500},
		"a window counts from its last bytes on":         {[]move{{0, 1000}, {0.5, 1200}}, 11, 200},
	} {
		t.Run(title, func(t *testing.T) {
			m := meter{windows: windows}
			for _, v := range c.moves {
				m.record(v.bytes, after(v.at))
			}
			if got := m.rate(after(c.at)); got != c.want {
				t.Errorf("the rate is %g, want %g", got, c.want)
			}
		})
	}
}

func TestAQuotaIsFreeAgainWhenTheRateIsDownToTheLimit(t *testing.T) {
	for title, c := range map[string]struct {
		moves []move
		limit int64
		at    float64
		want  float64 // seconds after the start
	}{
		"at once when the rate is at the limit":            {[]move{{0, 1000}}, 1000, 0.5, 0.5},
		"when the mean has come down":                      {[]move{{0, 4000}}, 1000, 0.5, 4},
		"of all windows together":                          {[]move{{0, 1000}, {1, 4000}}, 1000, 1, 5},
		"when what was too much is forgotten":              {[]move{{0, 50_000}}, 1000, 0.5, 11},
		"when that leaves little enough":                   {[]move{{0, 50_000}, {9, 3000}}, 1000, 9, 12},
		"and not before what is left is old enough itself": {[]move{{0, 50_000}, {1, 60_000}}, 1000, 1, 12},
		"with a limit of nothing when all is forgotten":    {[]move{{0, 1}, {3, 1}}, 0, 4, 14},
	} {
		t.Run(title, func(t *testing.T) {
			m := meter{windows: windows}
			for _, v := range c.moves {
				m.record(v.bytes, after(v.at))
			}
			if got := m.freeAt(c.limit, after(c.at)); !got.Equal(after(c.want)) {
				t.Errorf("it is free after %s, want %gs", got.Sub(start), c.want)
			}
		})
	}
}

// Whenever the quota says that it is free, the rate is at the limit or below it, and a moment before it was not.
func TestAQuotaIsFreeNeitherTooEarlyNorTooLate(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		m, now := meter{windows: windows}, start
		for range 1 + rnd.IntN(30) {
			now = now.Add(time.Duration(rnd.IntN(2000)) * time.Millisecond)
			m.record(int64(rnd.IntN(100_000)), now)
		}
		limit := int64(rnd.IntN(50_000))
		at := m.freeAt(limit, now)
		before, then := meter{windows, m.samples}, meter{windows, m.samples}
		if got := then.rate(at); got > float64(limit) {
			t.Fatalf("free after %s with a rate of %g at a limit of %d", at.Sub(now), got, limit)
		}
		if got := before.rate(at.Add(-2 * time.Millisecond)); at.After(now.Add(2*time.Millisecond)) && got <= float64(limit) {
			t.Fatalf("not free before %s, though the rate was %g at a limit of %d", at.Sub(now), got, limit)
		}
	}
}

// Who moves whenever the quota is free, as much at once as a fetch brings, moves the limit on the average: what one fetch is
// over is made up for by the time that follows.
func TestWhoMovesWheneverTheQuotaIsFreeMovesAtTheLimit(t *testing.T) {
	const limit, fetch, moved = 1 << 20, 1 << 20, 64 << 20
	q := NewQuota(windows, func() int64 { return limit })
	now, bytes := start, int64(0)
	for bytes < moved {
		until, exceeded := q.Exceeded(now)
		if exceeded {
			now = until
			continue
		}
		now = now.Add(time.Millisecond) // what a fetch takes
		q.Record(fetch, now)
		bytes += fetch
	}
	took := now.Sub(start)
	if want := time.Duration(moved/limit) * time.Second; took < want-2*windows.Length || took > want+2*windows.Length {
		t.Errorf("%d bytes at %d a second took %s, want %s but for two windows", moved, limit, took, want)
	}
}

func TestAQuotaGoesByTheLimitOfTheMoment(t *testing.T) {
	limit := int64(Unlimited)
	q := NewQuota(windows, func() int64 { return limit })
	q.Record(10_000, start)
	if _, exceeded := q.Exceeded(start); exceeded {
		t.Error("a quota without limit is exceeded")
	}
	limit = 1000
	if until, exceeded := q.Exceeded(start); !exceeded || !until.Equal(after(1)) {
		t.Errorf("what was moved before the limit was set counts, and is looked at after a window: exceeded is %v, until %s", exceeded, until.Sub(start))
	}
	limit = 10_000
	if _, exceeded := q.Exceeded(start); exceeded {
		t.Error("with a higher limit it is still exceeded")
	}
}

func TestTheReplicasThatAListNames(t *testing.T) {
	for title, c := range map[string]struct {
		list []string
		want map[[2]int32]bool // partition, broker
	}{
		"none":             {nil, map[[2]int32]bool{{0, 1}: false}},
		"all":              {[]string{"*"}, map[[2]int32]bool{{0, 1}: true, {7, 9}: true}},
		"some":             {[]string{"0:1", "2:1", "2:3"}, map[[2]int32]bool{{0, 1}: true, {2, 3}: true, {0, 3}: false, {1, 1}: false}},
		"a form not known": {[]string{"x", "1:y"}, map[[2]int32]bool{{1, 0}: false}},
	} {
		r := ParseReplicas(c.list)
		for at, want := range c.want {
			if got := r.Has(at[0], model.BrokerID(at[1])); got != want {
				t.Errorf("%s: partition %d on broker %d: %v, want %v", title, at[0], at[1], got, want)
			}
		}
	}
}
