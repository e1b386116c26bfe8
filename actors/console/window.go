package console

import (
	"slices"
	"sync"
	"time"

	"troupe/actors/api"
	"troupe/internal/histogram"
)

// windowLength is the least time that a window reaches back, once that much has passed; the most is twice that, or the
// time between two readings where these are rarer.
const windowLength = time.Minute

// window tells of a growing histogram what came in lately: percentiles over the whole life of a broker hide the present.
type window struct {
	older, newer histogram.Counts
	turned       time.Time
}

func (w *window) recent(c histogram.Counts, now time.Time) histogram.Counts {
	if now.Sub(w.turned) >= windowLength {
		w.older, w.newer, w.turned = w.newer, c, now
	}
	return c.Since(w.older)
}

// times holds a window for each API, for each of its stages, and one for fsyncs. Scrapes and the page share them.
type times struct {
	node *api.Node

	mu       sync.Mutex
	requests map[int16]*window
	stages   map[stageOf]*window // of APIs that were asked for
	flushes  window
}

type stageOf struct {
	key   int16
	stage api.Stage
}

// newTimes has a window for each API from the start: made on demand, the first scrape would see nothing of what came before.
func newTimes(n *api.Node) *times {
	t := &times{node: n, requests: make(map[int16]*window), stages: make(map[stageOf]*window), flushes: window{turned: n.Clock.Now()}}
	for _, h := range counted(n) {
		t.requests[h.Key] = &window{turned: n.Clock.Now()}
	}
	return t
}

// fetchFollower is the name that Kafka has for the fetches of other brokers.
var fetchFollower = &api.Handler{Key: api.FollowerFetchKey, Name: "FetchFollower"}

// counted are the APIs that requests are counted by.
func counted(n *api.Node) []*api.Handler { return append(slices.Clip(n.APIs), fetchFollower) }

// recentFlushes gives what came lately of all that was flushed.
func (t *times) recentFlushes(all histogram.Counts) histogram.Counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.flushes.recent(all, t.node.Clock.Now())
}

// requestTime is what is known of one API's requests.
type requestTime struct {
	handler     *api.Handler
	stats       *api.RequestStats
	all, recent histogram.Counts
}

// read gives the APIs that were asked for at least once, by key.
func (t *times) read() []requestTime {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.node.Clock.Now()
	var out []requestTime
	for _, h := range counted(t.node) {
		stats := t.node.Stats.Requests(h.Key)
		if stats == nil {
			continue
		}
		all := stats.Times.Read()
		out = append(out, requestTime{h, stats, all, t.requests[h.Key].recent(all, now)})
	}
	return out
}

// recentStage gives what came lately of a stage. A window that is made now reaches back to the start of the broker. Windows
// are 1.6 KB each, and most APIs are never asked for, so they are made when needed.
func (t *times) recentStage(key int16, stage api.Stage, all histogram.Counts) histogram.Counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.stages[stageOf{key, stage}]
	if w == nil {
		w = &window{turned: t.node.Clock.Now()}
		t.stages[stageOf{key, stage}] = w
	}
	return w.recent(all, t.node.Clock.Now())
}
