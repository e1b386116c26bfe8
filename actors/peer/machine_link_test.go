package peer

import (
	"testing"
	"time"
)

// The pauses and patience are those of the package's own constants, written out: a change of one shows here.
const ms = time.Millisecond

// life is a link's machine with the time that its events happen at.
type life struct {
	t   *testing.T
	m   machine
	now time.Time
}

func newLife(t *testing.T) *life {
	l := &life{t: t, now: time.Unix(1000, 0)}
	l.want("begin", l.m.begin(), step{fail: true, dial: true, timer: 2000 * ms})
	return l
}

func (l *life) want(event string, got, want step) {
	l.t.Helper()
	if got != want {
		l.t.Fatalf("after %s: %+v, want %+v", event, got, want)
	}
}

func (l *life) pass(d time.Duration) { l.now = l.now.Add(d) }

// stand brings the link up, from dialing.
func (l *life) stand() {
	l.t.Helper()
	l.want("opened", l.m.opened(), step{greet: true, timer: 2000 * ms})
	l.want("greeted", l.m.greeted(l.now), step{up: true})
}

func (l *life) refused(want step) {
	l.t.Helper()
	l.want("refused", l.m.closed(l.now, true), want)
}

func TestALinkThatBreaksIsDialedAtOnceAndARefusalIsTheEvidenceThatTheNodeHasEnded(t *testing.T) {
	l := newLife(t)
	l.stand()
	l.pass(time.Minute)
	l.want("a reset", l.m.closed(l.now, false), step{fail: true, down: true, dial: true, timer: 2000 * ms})
	l.refused(step{fail: true, refused: true, timer: 100 * ms})
	l.want("the rest is over", l.m.due(l.now), step{dial: true, timer: 2000 * ms})
	l.refused(step{fail: true, timer: 200 * ms}) // told once
	l.want("the rest is over", l.m.due(l.now), step{dial: true, timer: 2000 * ms})
	l.stand()
	l.pass(time.Minute)
	l.want("a reset", l.m.closed(l.now, false), step{fail: true, down: true, dial: true, timer: 2000 * ms})
	l.refused(step{fail: true, refused: true, timer: 100 * ms}) // and once more
}

func TestANodeThatWasNeverMetIsNotReportedAsEnded(t *testing.T) {
	l := newLife(t)
	for _, rest := range []time.Duration{50 * ms, 100 * ms, 200 * ms, 400 * ms, 800 * ms, 1000 * ms, 1000 * ms} {
		l.refused(step{fail: true, timer: rest})
		l.want("the rest is over", l.m.due(l.now), step{dial: true, timer: 2000 * ms})
	}
}

func TestALinkThatFlapsIsDamped(t *testing.T) {
	l := newLife(t)
	l.stand()
	l.pass(10 * ms)
	l.want("the first reset", l.m.closed(l.now, false), step{fail: true, down: true, dial: true, timer: 2000 * ms})
	for _, rest := range []time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms, 1000 * ms, 1000 * ms} {
		l.stand()
		l.pass(10 * ms)
		l.want("a reset", l.m.closed(l.now, false), step{fail: true, down: true, timer: rest})
		if l.m.worthDialing() {
			t.Fatal("a word from the node would end the damping")
		}
		l.want("the rest is over", l.m.due(l.now), step{dial: true, timer: 2000 * ms})
	}
	l.stand()
	l.pass(time.Second) // steady again
	l.want("a reset", l.m.closed(l.now, false), step{fail: true, down: true, dial: true, timer: 2000 * ms})
}

func TestANodeThatNobodyAnswersForIsGivenUpAfterAWhile(t *testing.T) {
	l := newLife(t)
	l.want("no connection in time", l.m.due(l.now), step{hang: true, fail: true, timer: 50 * ms})
	l.m.due(l.now)
	l.m.opened()
	l.want("no handshake in time", l.m.due(l.now), step{hang: true, fail: true, timer: 100 * ms})
	if !l.m.worthDialing() {
		t.Fatal("a word from the node is no news")
	}
	l.want("a word from the node", l.m.heard(), step{dial: true, timer: 2000 * ms})
}

func TestAStrangerIsNotDialedAgainSoon(t *testing.T) {
	l := newLife(t)
	l.m.opened()
	l.want("a stranger", l.m.estranged(), step{hang: true, fail: true, timer: 5 * time.Second})
	if l.m.worthDialing() {
		t.Fatal("a word from the stranger would have it dialed at once")
	}
}

func TestALinkIsDeadWhenACallIsOverdueAndNothingCameSinceItWasSent(t *testing.T) {
	for name, c := range map[string]struct {
		sent, last time.Duration // ago
		dead       bool
	}{
		"silent since":                  {3 * time.Second, 4 * time.Second, true},
		"silent from the same moment":   {3 * time.Second, 3 * time.Second, true},
		"another call was answered":     {3 * time.Second, 2 * time.Second, false},
		"a call that was given no time": {999 * ms, 4 * time.Second, false},
	} {
		l := newLife(t)
		l.stand()
		l.pass(time.Minute)
		want := step{}
		if c.dead {
			want = step{hang: true, fail: true, down: true, dial: true, timer: 2000 * ms}
		}
		l.want(name, l.m.unanswered(l.now, l.now.Add(-c.sent), l.now.Add(-c.last)), want)
	}
}

func TestANodeThatIsForgottenOrHasMovedLosesItsLink(t *testing.T) {
	l := newLife(t)
	l.stand()
	l.want("a new address", l.m.begin(), step{hang: true, fail: true, down: true, dial: true, timer: 2000 * ms})
	l.refused(step{fail: true, timer: 50 * ms}) // nobody was met there yet
	l.want("no address", l.m.end(), step{fail: true})
	l.m.begin()
	l.stand()
	l.want("no address", l.m.end(), step{hang: true, fail: true, down: true})
}
