package cleaner

import (
	"errors"
	"math"
	"testing"
	"time"

	"go.uber.org/goleak"

	"troupe/configs"
	"troupe/internal/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRunsTogetherKeepToTheMemoryAndNumberConfigured(t *testing.T) {
	cfg := configs.Cleaner{Threads: 1, MapBytes: 100, BufferBytes: 40}
	p := NewPool(clock.System(), func() configs.Cleaner { return cfg })
	first, ok := p.enter()
	if !ok || first != (Share{MapBytes: 100, BufferBytes: 20}) {
		t.Fatalf("%+v, %v", first, ok)
	}
	if _, ok := p.enter(); ok {
		t.Error("a second run with one thread")
	}
	cfg.Threads = 2
	if _, ok := p.enter(); ok {
		t.Error("the first run still has all the memory")
	}
	p.leave(first)
	for range 2 {
		if s, ok := p.enter(); !ok || s.MapBytes != 50 || s.BufferBytes != 10 {
			t.Errorf("%+v, %v", s, ok)
		}
	}
	if _, ok := p.enter(); ok {
		t.Error("a third run with two threads")
	}
	cfg.Threads = 0
	if _, ok := p.enter(); ok {
		t.Error("a run with no thread")
	}
}

func TestBytesBeyondTheRateWait(t *testing.T) {
	manual := clock.NewManual(time.Unix(100, 0))
	cfg := configs.Cleaner{BytesPerSec: 1000}
	p := NewPool(manual, func() configs.Cleaner { return cfg })
	for i, want := range []time.Duration{0, 500 * time.Millisecond, 2500 * time.Millisecond} {
		if got := p.reserve([]int{500, 2000, 1}[i]); got != want {
			t.Errorf("call %d waits %v, want %v", i, got, want)
		}
	}
	manual.Advance(time.Minute)
	if got := p.reserve(500); got != 0 {
		t.Errorf("what was not used is not owed: %v", got)
	}
	stopped := make(chan struct{})
	done := make(chan error)
	go func() { done <- p.pass(1, stopped) }()
	close(stopped)
	if err := <-done; !errors.Is(err, errStopped) {
		t.Errorf("a stop ends the wait: %v", err)
	}
	cfg.BytesPerSec = math.MaxFloat64
	manual.Advance(time.Minute)
	for range 10 {
		manual.Advance(-time.Second) // a clock that is set back
		if got := p.reserve(1 << 30); got != 0 {
			t.Errorf("without a limit a run waits %v", got)
		}
	}
}
