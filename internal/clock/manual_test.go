package clock

import (
	"slices"
	"testing"
	"time"
)

func TestManualRunsCallsInTimeThenInOrderAsked(t *testing.T) {
	start := time.Unix(1000, 0)
	m := NewManual(start)
	var ran []string
	note := func(s string) func() {
		return func() { ran = append(ran, s+"@"+m.Now().Sub(start).String()) }
	}
	m.AfterFunc(2*time.Second, note("b"))
	m.AfterFunc(time.Second, note("a"))
	m.AfterFunc(2*time.Second, note("c"))
	stopped := m.AfterFunc(time.Second, note("stopped"))
	if !stopped.Stop() || stopped.Stop() {
		t.Fatal("Stop must be true once")
	}
	m.AfterFunc(time.Second, func() { m.AfterFunc(time.Second, note("nested")) })
	m.Advance(3 * time.Second)
	want := []string{"a@1s", "b@2s", "c@2s", "nested@2s"}
	if !slices.Equal(ran, want) {
		t.Fatalf("ran %v, want %v", ran, want)
	}
	if m.Now() != start.Add(3*time.Second) {
		t.Fatalf("now = %v", m.Now())
	}
}

func TestManualStepMovesTheWallClockButNotTheTimers(t *testing.T) {
	m := NewManual(time.Unix(1000, 0))
	fired := false
	m.AfterFunc(time.Second, func() { fired = true })
	m.Step(time.Unix(10, 0))
	m.Advance(999 * time.Millisecond)
	if fired {
		t.Fatal("fired early")
	}
	m.Advance(time.Millisecond)
	if !fired {
		t.Fatal("a step backwards delayed the timer")
	}
}
