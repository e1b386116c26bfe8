// Package throttle bounds the bytes a second that replicas take which are being moved (KIP-73): a meter of Kafka's kind, and
// the quota that those who send and fetch consult. Who is over a quota is not made to wait: what it would move is left out
// until the quota allows it.
package throttle

import (
	"math"
	"time"
)

// Windows is over how many stretches of which length a rate is taken (replication.quota.window.num and .size.seconds).
type Windows struct {
	Count  int
	Length time.Duration
}

// Unlimited is the rate of a quota that bounds nothing, which is the keys' default.
const Unlimited = math.MaxInt64

// meter takes a rate as Kafka's SimpleRate does: the bytes of the windows that are remembered over the time since the first
// of them began, but at least over one window. A single large transfer is so held against those that follow it until the
// mean is down to the limit.
//
// Invariants: samples begin one window or more apart and rise; each has had bytes within the last Count windows.
type meter struct {
	windows Windows
	samples []sample
}

// sample is the bytes of one window. It begins with the first of them.
type sample struct {
	start, last time.Time
	bytes       int64
}

func (m *meter) record(bytes int64, now time.Time) {
	m.forget(now)
	if n := len(m.samples); n == 0 || now.Sub(m.samples[n-1].start) >= m.windows.Length {
		m.samples = append(m.samples, sample{start: now})
	}
	s := &m.samples[len(m.samples)-1]
	s.bytes += bytes
	s.last = now
}

// memory is how long a sample counts after its last bytes.
func (m *meter) memory() time.Duration { return time.Duration(m.windows.Count) * m.windows.Length }

func (m *meter) forget(now time.Time) {
	old := 0
	for old < len(m.samples) && now.Sub(m.samples[old].last) >= m.memory() {
		old++
	}
	m.samples = m.samples[old:]
}

// rate is in bytes a second.
func (m *meter) rate(now time.Time) float64 {
	m.forget(now)
	if len(m.samples) == 0 {
		return 0
	}
	over := max(now.Sub(m.samples[0].start), m.windows.Length)
	return float64(total(m.samples)) / over.Seconds()
}

func total(samples []sample) (bytes int64) {
	for _, s := range samples {
		bytes += s.bytes
	}
	return bytes
}

// freeAt is when the rate is down to a limit if nothing more comes: by time that passes, or by samples that are forgotten.
// It is now, or before, when the rate is not above the limit.
func (m *meter) freeAt(limit int64, now time.Time) time.Time {
	m.forget(now)
	at := now
	for rest := m.samples; len(rest) > 0; rest = rest[1:] {
		gone := rest[0].last.Add(m.memory())
		seconds := float64(total(rest)) / float64(limit) // infinite at a limit of 0
		switch {
		case seconds <= m.windows.Length.Seconds():
			return at
		case seconds < gone.Sub(rest[0].start).Seconds():
			due := rest[0].start.Add(time.Duration(math.Ceil(seconds*1000)) * time.Millisecond)
			if due.Before(at) {
				return at
			}
			return due
		}
		at = gone
	}
	return at
}
