package kit

import "time"

// Props says how to make an actor and what to do when it fails. Kind and New are required.
type Props struct {
	// Kind groups actors in metrics, traces and the tree, such as "replica".
	Kind string
	// New makes the behavior of the next incarnation. It runs on the actor's goroutine.
	New func() Behavior
	// Restarts bounds how often the actor is restarted after panics; the zero value means DefaultRestarts.
	Restarts Restarts
	// OnGiveUp makes the message that the parent gets when the restarts are used up; GaveUp when nil. It runs on the
	// parent's goroutine. Of an actor without parent, Options.OnGiveUp is told instead.
	OnGiveUp func(actor Ref, err *PanicError) Message
	// Dedicated gives the actor a goroutine of its own for life, for a disk lane whose Receive blocks: it stalls
	// nobody else and costs no wake-up of a new goroutine. A Deterministic dispatcher runs it like the others.
	Dedicated bool
	// Brief tells of the message that wakes a Dedicated actor whether it is so little work that the goroutine of a Turn may
	// do it, although it may block. Without it a Dedicated actor never leaves its own.
	Brief func(Message) bool
}

// Restarts is a policy: after the n-th panic within the last Within, the actor is restarted after MinBackoff * 2^(n-1),
// at most MaxBackoff; after more than Max of them it is given up.
type Restarts struct {
	Max        int           // negative: never restarted
	Within     time.Duration // 0: for life
	MinBackoff time.Duration
	MaxBackoff time.Duration
}

// DefaultRestarts ride out a passing fault without hiding a lasting one.
var DefaultRestarts = Restarts{Max: 8, Within: time.Minute, MinBackoff: 10 * time.Millisecond, MaxBackoff: 2 * time.Second}

// backoff is the wait before the restart that follows the n-th recent panic, n counted from 1.
func (r Restarts) backoff(n int) time.Duration {
	d := r.MinBackoff
	for ; n > 1 && d < r.MaxBackoff; n-- {
		d *= 2
	}
	return min(d, r.MaxBackoff)
}

// restartRecord remembers the recent panics of one actor.
type restartRecord struct{ panics []time.Time }

// fail notes a panic at now and says how long to wait before the restart, or that there shall be none.
func (r *restartRecord) fail(now time.Time, policy Restarts) (wait time.Duration, ok bool) {
	kept := r.panics[:0]
	for _, t := range r.panics {
		// A clock stepped backwards leaves times of the future here; they count as recent.
		if policy.Within == 0 || now.Sub(t) < policy.Within {
			kept = append(kept, t)
		}
	}
	r.panics = append(kept, now)
	if len(r.panics) > policy.Max {
		return 0, false
	}
	return policy.backoff(len(r.panics)), true
}
