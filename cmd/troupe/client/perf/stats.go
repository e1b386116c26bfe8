package perf

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"troupe/cmd/troupe/client/kafkatext"
)

// maxSamples bounds how many latencies are kept.
const maxSamples = 500000

// stats counts acknowledged records. Times are milliseconds, as the script's.
type stats struct {
	mu       sync.Mutex
	out      io.Writer
	steady   bool // whether it leaves out the warmup
	quiet    bool // no progress lines any more
	interval int64
	start    int64
	every    int64 // keeps the latency of one record in so many

	count, bytes, latencies int64
	longest                 int64
	kept                    []int64
	window                  window
}

// window is the time since the last progress line.
type window struct {
	start, count, bytes, latencies, longest int64
}

func nowMs() int64 { return time.Now().UnixMilli() }

// newStats spreads its samples over the run: memory stays bounded, and percentiles are of the whole run.
func newStats(records, interval int64, steady bool, out io.Writer) *stats {
	now := nowMs()
	return &stats{
		out: out, steady: steady, interval: interval, start: now, window: window{start: now},
		every: records / min(records, maxSamples),
	}
}

// record counts one record that was acknowledged at a time, so long after it was sent.
func (s *stats) record(latency, size, at int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count%s.every == 0 {
		s.kept = append(s.kept, latency)
	}
	s.count++
	s.bytes += size
	s.latencies += latency
	s.longest = max(s.longest, latency)
	w := &s.window
	w.count++
	w.bytes += size
	w.latencies += latency
	w.longest = max(w.longest, latency)
	// Windows end with a record and not with a clock: a stalled run prints nothing, like the script.
	if at-w.start < s.interval {
		return
	}
	// The first window of the steady state.
	if s.steady && s.count == w.count {
		fmt.Fprintln(s.out, "In steady state.")
	}
	if !s.quiet {
		fmt.Fprintln(s.out, w.line(nowMs()))
	}
	s.window = window{start: nowMs()}
}

// hush ends the progress lines.
func (s *stats) hush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quiet = true
}

func (w window) line(now int64) string {
	elapsed := float64(now - w.start)
	return fmt.Sprintf("%d records sent, %s records/sec (%s MB/sec), %s ms avg latency, %s ms max latency.",
		w.count, kafkatext.Fixed(1000*float64(w.count)/elapsed, 1), kafkatext.Fixed(megabytes(w.bytes, elapsed), 2),
		kafkatext.Fixed(float64(w.latencies)/float64(w.count), 1), kafkatext.Fixed(float64(w.longest), 1))
}

// megabytes gives MiB a second, which the script calls MB.
func megabytes(bytes int64, elapsedMs float64) float64 {
	return 1000 * float64(bytes) / elapsedMs / (1024 * 1024)
}

// summary is the last line, and -o json.
type summary struct {
	Records        int64   `json:"records"`
	Steady         bool    `json:"steadyState"`
	RecordsPerSec  float64 `json:"recordsPerSec"`
	MBPerSec       float64 `json:"mbPerSec"`
	AverageLatency float64 `json:"avgLatencyMs"`
	MaxLatency     float64 `json:"maxLatencyMs"`
	P50            int64   `json:"p50Ms"`
	P95            int64   `json:"p95Ms"`
	P99            int64   `json:"p99Ms"`
	P999           int64   `json:"p999Ms"`
}

func (s *stats) summary(now int64) summary {
	s.mu.Lock()
	defer s.mu.Unlock()
	elapsed := float64(now - s.start)
	slices.Sort(s.kept)
	// Percentiles are of the samples, by rank.
	at := func(q float64) int64 {
		if len(s.kept) == 0 {
			return 0
		}
		return s.kept[int(q*float64(len(s.kept)))]
	}
	return summary{
		s.count, s.steady, 1000 * float64(s.count) / elapsed, megabytes(s.bytes, elapsed),
		float64(s.latencies) / float64(s.count), float64(s.longest), at(0.5), at(0.95), at(0.99), at(0.999),
	}
}

// String gives the script's line.
func (t summary) String() string {
	steady := ""
	if t.Steady {
		steady = " steady state"
	}
	return fmt.Sprintf("%d%s records sent, %s records/sec (%s MB/sec), %s ms avg latency, %s ms max latency, "+
		"%d ms 50th, %d ms 95th, %d ms 99th, %d ms 99.9th.",
		t.Records, steady, kafkatext.Fixed(t.RecordsPerSec, 6), kafkatext.Fixed(t.MBPerSec, 2),
		kafkatext.Fixed(t.AverageLatency, 2), kafkatext.Fixed(t.MaxLatency, 2), t.P50, t.P95, t.P99, t.P999)
}
