package simulation

import (
	"syscall"
	"time"
)

func (w *World) slowDiskFault(h *host) bool {
	h.ioTime = w.between(2*time.Millisecond, 150*time.Millisecond)
	away := w.downtime()
	w.note("slow disk", "node %d takes %s, for %s", h.id, h.ioTime, away)
	w.after(away, func() { h.ioTime = healthyDisk })
	return true
}

// failingDiskFault lets every write and sync fail. A broker without a disk ends; it is started when the disk is mended.
func (w *World) failingDiskFault(h *host) bool {
	if h.process == nil || h.diskErr != nil {
		return false
	}
	errs := []error{syscall.EIO, syscall.ENOSPC}
	err, away := errs[w.random.IntN(len(errs))], w.downtime()
	w.note("disk fails", "node %d: %v, for %s", h.id, err, away)
	h.diskErr = err
	w.after(away, func() {
		w.note("disk works", "node %d", h.id)
		h.diskErr = nil
		if !h.off {
			h.bringUp()
		}
	})
	return true
}

// wipeFault replaces a disk by an empty one, often before anybody has missed the node. While another node has no vote this
// would cost the quorum its majority, which nothing survives.
func (w *World) wipeFault(h *host) bool {
	if w.static || !w.allVote(h) {
		return false
	}
	away := w.downtime()
	w.note("wipe", "node %d, for %s", h.id, away)
	h.losePower()
	w.checks.losses.lost(h, w.checks.images.newest)
	h.disk.Wipe()
	h.drawDirectory()
	h.fresh, h.diskErr = true, nil
	h.format(true)
	w.after(away, h.bringUp)
	return true
}

// allVote tells that every node but one has a vote, of as many as there are nodes, and that no vote is about to be taken.
func (w *World) allVote(but *host) bool {
	if w.since() < w.revisedUntil {
		return false
	}
	for _, h := range w.hosts {
		if h == but {
			continue
		}
		if h.process == nil || h.fresh {
			return false
		}
		if s := h.process.broker.Node().Quorum(); !s.Votes || s.Voters != len(w.hosts) {
			return false
		}
	}
	return true
}
