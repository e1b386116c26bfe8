package peer

import "time"

const (
	// restMin and restMax bound the pause before the next dial; it doubles with each failure.
	restMin = 50 * time.Millisecond
	restMax = time.Second
	// strangerRest follows a handshake that was refused: somebody has to change a configuration first.
	strangerRest = 5 * time.Second
	// patience is for dialing and handshake together. A machine that is cut off answers neither.
	patience = 2 * time.Second
	// steadyAfter is how long a link has to stand before it is trusted again: one that breaks earlier is damped.
	steadyAfter = time.Second
	// silenceMin is the least time without a word that makes a link dead; see machine.unanswered.
	silenceMin = time.Second
)

// state is what a link is at.
type state uint8

const (
	resting  state = iota // no connection; the next dial is due later, or never
	dialing               // until the connection is open
	greeting              // the handshake is under way
	standing              // calls go out
)

// machine decides when a link's connection is dialed and given up, and what the end of one tells about the node.
//
//	resting --due, heard--> dialing --opened--> greeting --greeted--> standing
//	   ^                       |                   |                     |
//	   +------ after a rest ---+-------------------+   closed: dialing at once, or a rest where that came too soon
//
// Invariants:
//  1. there is a connection exactly from the step that dials to the one that hangs up or the event closed;
//  2. a timer runs exactly while resting (unless the node has no such listener), dialing and greeting;
//  3. Up and Down alternate, beginning with Up; Refused comes at most once between a Down and the next Up, never first.
type machine struct {
	state state
	// failures are the attempts in a row that came to nothing, and links that broke before they were steady.
	failures int
	// up is since when the link stands, or stood last; zero before it ever did.
	up time.Time
	// refused tells that nobody listens at the address of a node that this one was connected with.
	refused bool
	// damped tells that the rest is not because nobody answered: a link broke, or the node was a stranger.
	damped bool
	// missed tells that the last attempt did not meet the node.
	missed bool
}

// step is what the shell does next, in the order of the fields.
type step struct {
	// hang ends the connection; nothing that comes from it counts any more.
	hang bool
	// fail ends the calls that were sent or wait, in the order in which they came.
	fail bool
	// down and then refused are told to watchers.
	down, refused bool
	// dial makes a connection.
	dial bool
	// timer replaces the link's timer; zero stops it.
	timer time.Duration
	// greet sends the handshake.
	greet bool
	// up is told to watchers, and the calls that wait go out.
	up bool
}

// begin dials a node whose address has become known, or has changed: what was known of the old one says nothing of it.
func (m *machine) begin() step {
	s := m.end()
	*m = machine{}
	s.merge(m.dial())
	return s
}

// end gives the link up for good: the node is gone, or has no such listener.
func (m *machine) end() step {
	s := step{hang: m.state != resting, fail: true, down: m.state == standing}
	m.state = resting
	return s
}

// opened follows a dial: the node is asked who it is.
func (m *machine) opened() step {
	m.state = greeting
	return step{greet: true, timer: patience}
}

// greeted ends the handshake well.
func (m *machine) greeted(now time.Time) step {
	m.state, m.up, m.refused, m.missed = standing, now, false, false
	return step{up: true}
}

// estranged ends the handshake badly: one of the two nodes does not take the other for what it expects.
func (m *machine) estranged() step {
	m.state, m.damped, m.missed = resting, true, true
	m.failures++
	return step{hang: true, fail: true, timer: strangerRest}
}

// closed says that the connection ended by itself, or could not be made. After a link that stood the next dial is at once,
// since that tells whether the node's process has ended.
func (m *machine) closed(now time.Time, refused bool) step {
	s := step{fail: true}
	stood := m.state == standing
	if stood {
		s.down = true
		if now.Sub(m.up) >= steadyAfter {
			m.failures = 0
		}
	}
	m.state, m.damped, m.missed = resting, stood, !stood
	m.failures++
	if refused && !m.up.IsZero() && !m.refused {
		m.refused, s.refused = true, true
	}
	if stood && m.failures == 1 {
		s.merge(m.dial())
		return s
	}
	s.timer = rest(m.failures)
	return s
}

// due is the timer: the rest is over, or the node took too long.
func (m *machine) due(now time.Time) step {
	if m.state == resting {
		return m.dial()
	}
	return m.lost(now)
}

// heard says that the node itself has just made a connection here: it is there, whatever the last dial came to.
func (m *machine) heard() step {
	return m.dial()
}

// elsewhere tells whether the next dial is better made at another address, where one is known. A link that stood is dialed
// where it stood: what comes of that is evidence.
func (m *machine) elsewhere() bool { return m.missed }

// worthDialing tells whether heard is news.
func (m *machine) worthDialing() bool { return m.state == resting && m.failures > 0 && !m.damped }

// unanswered says that a call sent at a time was not answered by its deadline; last is when anything was received. The link
// is given up when nothing was since: its connection may be dead without either end's system knowing.
func (m *machine) unanswered(now, sent, last time.Time) step {
	if m.state != standing || last.After(sent) || now.Sub(sent) < silenceMin {
		return step{}
	}
	return m.lost(now)
}

// lost gives up a connection that answers no more.
func (m *machine) lost(now time.Time) step {
	s := step{hang: true}
	s.merge(m.closed(now, false))
	return s
}

func (m *machine) dial() step {
	m.state = dialing
	return step{dial: true, timer: patience}
}

// rest is the pause after so many failures in a row.
func rest(failures int) time.Duration {
	return min(restMin<<min(failures-1, 10), restMax)
}

// merge adds what a later decision asks for.
func (s *step) merge(o step) {
	s.hang, s.fail = s.hang || o.hang, s.fail || o.fail
	s.down, s.refused = s.down || o.down, s.refused || o.refused
	s.dial, s.greet, s.up = s.dial || o.dial, s.greet || o.greet, s.up || o.up
	s.timer = o.timer
}
