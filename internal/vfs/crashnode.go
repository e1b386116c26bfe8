package vfs

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// crashNode is a directory, when names is not nil, or a file.
//
// Invariant: applying changes to durableNames gives names, and applying edits to durable gives data.
type crashNode struct {
	names        map[string]*crashNode
	durableNames map[string]*crashNode
	changes      []map[string]*crashNode // each atomic; nil removes a name

	data     []byte
	durable  []byte
	edits    []edit
	modified time.Time
	number   int // of a file, never used again
	lockedBy int // the process that locked it, from 1
}

// edit is one change to a file's bytes.
type edit struct {
	off      int64
	data     []byte
	size     int64
	truncate bool
}

func newCrashDir() *crashNode {
	return &crashNode{names: map[string]*crashNode{}, durableNames: map[string]*crashNode{}}
}

func (n *crashNode) info(name string) crashInfo {
	return crashInfo{name: name, size: int64(len(n.data)), dir: n.names != nil, modified: n.modified}
}

func (n *crashNode) bytes() int64 {
	sum := int64(len(n.data))
	for _, child := range n.names {
		sum += child.bytes()
	}
	return sum
}

func (n *crashNode) set(change map[string]*crashNode) {
	applyNames(n.names, change)
	n.changes = append(n.changes, change)
}

// applyNames does one change of a directory's names; nil stands for a name that goes. A rename is one change of two names,
// so that no crash keeps half of it.
func applyNames(names, change map[string]*crashNode) {
	for name, child := range change {
		if child == nil {
			delete(names, name)
		} else {
			names[name] = child
		}
	}
}

// syncNames makes the first changes durable.
func (n *crashNode) syncNames(count int) {
	for _, change := range n.changes[:count] {
		applyNames(n.durableNames, change)
	}
	n.changes = n.changes[count:]
}

func (n *crashNode) edit(e edit) {
	n.data = applyEdit(n.data, e)
	n.edits = append(n.edits, e)
}

// applyEdit does one write or truncation on the bytes that a file has, now or durably: the same edits in the same order
// give both states.
func applyEdit(data []byte, e edit) []byte {
	end := e.size
	if !e.truncate {
		end = e.off + int64(len(e.data))
	}
	switch {
	case int64(len(data)) < end:
		data = append(data, make([]byte, end-int64(len(data)))...)
	case e.truncate:
		// Without the capacity, so that growing again brings zeros and not what was cut off.
		data = data[:end:end]
	}
	copy(data[min(e.off, int64(len(data))):], e.data)
	return data
}

func (n *crashNode) sync() {
	for _, e := range n.edits {
		n.durable = applyEdit(n.durable, e)
	}
	n.edits = nil
}

// syncAll makes this node and all below durable. What was removed or renamed away is not below any more.
func (n *crashNode) syncAll() {
	n.sync()
	n.syncNames(len(n.changes))
	for _, child := range n.names {
		child.syncAll()
	}
}

// crash leaves what the disk has, in this node and below.
func (n *crashNode) crash(r *rand.Rand) {
	if n.names == nil {
		n.crashFile(r)
		return
	}
	// Names are journaled in order, so that a prefix of the changes is what the disk has.
	n.syncNames(r.IntN(len(n.changes) + 1))
	n.changes = nil
	n.names = maps.Clone(n.durableNames)
	for _, name := range slices.Sorted(maps.Keys(n.names)) {
		n.names[name].crash(r)
	}
}

// sector is what a disk writes at once.
const sector = 512

// crashFile keeps a prefix of the edits and tears the next one. Once in four times the kernel wrote back out of order:
// sectors of the kept ones are still what they were.
func (n *crashNode) crashFile(r *rand.Rand) {
	if len(n.edits) > 0 {
		kept := r.IntN(len(n.edits) + 1)
		lossy := r.IntN(4) == 0
		for _, e := range n.edits[:kept] {
			before := slices.Clone(n.durable)
			n.durable = applyEdit(n.durable, e)
			if lossy && !e.truncate {
				loseSectors(r, n.durable, before, e)
			}
		}
		if kept < len(n.edits) && !n.edits[kept].truncate {
			torn := n.edits[kept]
			torn.data = torn.data[:r.IntN(len(torn.data)+1)]
			n.durable = applyEdit(n.durable, torn)
		}
		n.edits = nil
	}
	// The two must not share bytes: what is written next is not durable.
	n.data = slices.Clone(n.durable)
}

// loseSectors puts back what was there before, or zeros where the file has only grown.
func loseSectors(r *rand.Rand, data, before []byte, e edit) {
	for at := e.off / sector * sector; at < e.off+int64(len(e.data)); at += sector {
		if r.IntN(3) > 0 {
			continue
		}
		for i := max(at, e.off); i < min(at+sector, e.off+int64(len(e.data))); i++ {
			data[i] = 0
			if i < int64(len(before)) {
				data[i] = before[i]
			}
		}
	}
}
