package perf

import (
	"bytes"
	mathrand "math/rand/v2"
	"testing"
)

// The form of the lines is that of kafka-producer-perf-test 4.3.1, the figures are arithmetic.
func TestTheSummaryIsTheScriptsLine(t *testing.T) {
	s := newStats(4, 5000, false, &bytes.Buffer{})
	s.start = 1000
	for _, latency := range []int64{1, 2, 3, 10} {
		s.record(latency, 1<<18, s.window.start)
	}
	// 4 records of 256 KiB in 2 s: 2 a second, 0.5 MiB a second, (1+2+3+10)/4 ms on average.
	want := "4 records sent, 2.000000 records/sec (0.50 MB/sec), 4.00 ms avg latency, 10.00 ms max latency, " +
		"3 ms 50th, 10 ms 95th, 10 ms 99th, 10 ms 99.9th."
	if got := s.summary(3000).String(); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	s.steady = true
	if got := s.summary(3000).String(); got[:len("4 steady state records")] != "4 steady state records" {
		t.Errorf("got %s", got)
	}
}

func TestAProgressLineCountsTheTimeSinceTheLastOne(t *testing.T) {
	w := window{start: 1000, count: 1976, bytes: 19760, latencies: 91290, longest: 709}
	// 1976 records in 1011 ms; 19760 B / 1.011 s / 2^20; 91290 / 1976 = 46.199.
	want := "1976 records sent, 1954.5 records/sec (0.02 MB/sec), 46.2 ms avg latency, 709.0 ms max latency."
	if got := w.line(2011); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func TestAProgressLineComesAfterTheInterval(t *testing.T) {
	var out bytes.Buffer
	s := newStats(10, 100, true, &out)
	s.record(1, 1, s.window.start+99)
	if out.Len() > 0 {
		t.Fatalf("too early: %s", out.String())
	}
	s.record(1, 1, s.window.start+100)
	if !bytes.HasPrefix(out.Bytes(), []byte("In steady state.\n2 records sent, ")) {
		t.Errorf("got %q", out.String())
	}
	out.Reset()
	s.hush()
	s.record(1, 1, s.window.start+100)
	if out.Len() > 0 {
		t.Errorf("after it was hushed: %q", out.String())
	}
}

func TestOnlySoManyLatenciesAreKept(t *testing.T) {
	s := newStats(4*maxSamples, 1<<40, false, &bytes.Buffer{})
	for range 40 {
		s.record(1, 1, s.start)
	}
	if len(s.kept) != 10 {
		t.Errorf("one in four of 40 should be kept, not %d", len(s.kept))
	}
}

func TestRandomRecordsAreCapitalLetters(t *testing.T) {
	seen := map[byte]bool{}
	for _, b := range letters(mathrand.NewPCG(1, 2), 10001) {
		if b < 'A' || b > 'Z' {
			t.Fatalf("%q", b)
		}
		seen[b] = true
	}
	if len(seen) != 26 {
		t.Errorf("%d different letters", len(seen))
	}
}
