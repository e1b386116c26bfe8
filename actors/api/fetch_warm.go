package api

import (
	"sync/atomic"

	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/actors/trace"
)

// warming counts the cold reads that a reply waits for, so that the connection's sendfile meets no disk wait.
type warming struct {
	left atomic.Int32
	wake kit.Errand
}

// done is asked by polls; finished is called by the lanes, with errors that the answer then shows by itself: what
// cannot be read now cannot be sent either.
func (w *warming) done() bool { return w.left.Load() == 0 }

func (w *warming) finished(error) {
	if w.left.Add(-1) == 0 {
		w.wake.Elsewhere()
	}
}

// warm asks the cold lanes for the regions that are not in the page cache; nil when all are.
func (n *Node) warm(cause trace.Context, results []fetchResult, wake kit.Errand) *warming {
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
		res.part.handle.Dir().ColdLane(res.part.handle.TP).SendCaused(cause, &disk.Warm{
			File: res.region.File, Pos: res.region.Pos, Len: res.region.Len, Done: w.finished,
		})
	}
	if w != nil && w.left.Add(-1) == 0 {
		return nil
	}
	return w
}

// cached takes a file that cannot tell for cached: the connection's read will wait, or fail.
func cached(res *fetchResult) bool {
	there, err := res.region.Cached()
	return err != nil || there
}
