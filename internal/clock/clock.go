// Package clock lets time be given: production code takes a Clock, tests and the simulator move a Manual one.
package clock

import "time"

// Clock tells the time and calls back later.
type Clock interface {
	// Now is the wall clock with a monotonic part where there is one.
	Now() time.Time
	// AfterFunc calls f once, on a goroutine of its own (Manual: on that of Advance), after d.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a pending call.
type Timer interface {
	// Stop cancels the call and tells whether that was in time.
	Stop() bool
}

// System is the machine's clock.
func System() Clock { return system{} }

type system struct{}

func (system) Now() time.Time { return time.Now() }

func (system) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }
