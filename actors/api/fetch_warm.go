package api

import (
	"sync/atomic"

	"troupe/actors/disk"
	"troupe/actors/trace"
)

// warming counts the cold reads that a reply waits for, so that the connection's sendfile meets no disk wait.
type warming struct {
	left atomic.Int32
	wake func()
}

func (w *warming) done() bool { return w.left.Load() == 0 }

func (w *warming) finished(error) {
	if w.left.Add(-1) == 0 {
		w.wake()
	}
}

// probeStep is the distance of the bytes that are asked for in the page cache. The kernel reads ahead in strides of at
// least this size, so what lies between two cached probes is cached, but for eviction in between.
const probeStep = 256 << 10

// warm asks the cold lanes for the regions that are not in the page cache; nil when all are.
func (n *Node) warm(cause trace.Context, results []fetchResult, wake func()) *warming {
	var w *warming
	for i := range results {
		res := &results[i]
		if res.region.Len == 0 || cached(res) {
			continue
		}
		if w == nil {
			w = &warming{wake: wake}
			w.left.Store(1)
		}
		w.left.Add(1)
		res.part.handle.Dir.ColdLane(res.part.handle.TP).SendCaused(cause, &disk.Warm{
			File: res.region.File, Pos: res.region.Pos, Len: res.region.Len, Done: w.finished,
		})
	}
	if w != nil && w.left.Add(-1) == 0 {
		return nil
	}
	return w
}

func cached(res *fetchResult) bool {
	var b [1]byte
	r := &res.region
	for pos := r.Pos; pos < r.Pos+r.Len; pos += probeStep {
		if _, ok, err := r.File.ReadAtCached(b[:], pos); err == nil && !ok {
			return false
		}
	}
	_, ok, err := r.File.ReadAtCached(b[:], r.Pos+r.Len-1)
	return err != nil || ok
}
