package partitionlog

import (
	"sync"

	"troupe/internal/model"
	"troupe/internal/vfs"
)

// segIndex is the offset and time index of one segment. The owner of the log adds entries; they are written in blocks
// by jobs, and searched by everybody. Files are opened for each search: what is read often is remembered elsewhere
// (marks, cursors), and a descriptor kept for each index would cost more.
//
// Invariants:
//  1. Entries rise (table), and are of batches in the segment, though the last ones may still be on their way.
//  2. lastMs <= max.timestampMs; they are equal once the segment is sealed.
//  3. mu is never held while a disk is waited for.
type segIndex struct {
	files  *FileCache
	budget *IndexBudget
	log    *slot // knows the directory, and whether the segment's files were renamed
	base   model.Offset

	mu      sync.Mutex
	offsets table
	times   table
	lastMs  int64    // timestamp of the last time entry, noTime without one
	max     timedMax // over all batches of the segment
	recent  []byte   // the block of the offset index that was read last: a reader of old data comes back to it
	charged int
}

// timedMax is the greatest timestamp of a segment, and the last offset of the batch that brought it first.
type timedMax struct {
	timestampMs int64
	offset      model.Offset
}

const noTime int64 = -1

func newSegIndex(env *Env, log *slot, base model.Offset) *segIndex {
	return &segIndex{
		files: env.Files, budget: env.Index, log: log, base: base,
		offsets: table{width: offsetEntrySize}, times: table{width: timeEntrySize},
		lastMs: noTime, max: timedMax{noTime, model.NoOffset},
	}
}

// note takes in the greatest timestamp of a batch; entry says that the batch, which ends with last and begins at pos,
// is to be found by the index.
func (x *segIndex) note(last model.Offset, pos, timestampMs int64, entry bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if timestampMs > x.max.timestampMs {
		x.max = timedMax{timestampMs, last}
	}
	if entry {
		x.charge(x.offsets.append(offsetEntry(relative(x.base, last), pos)))
		x.addTime()
	}
}

// seal adds the entry that tells the greatest timestamp of the whole segment.
func (x *segIndex) seal() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.addTime()
}

func (x *segIndex) addTime() {
	if x.max.timestampMs > x.lastMs {
		x.charge(x.times.append(timeEntry(x.max.timestampMs, relative(x.base, x.max.offset))))
		x.lastMs = x.max.timestampMs
	}
}

func (x *segIndex) charge(grown int) {
	x.charged += grown
	x.budget.charge(grown)
}

// release gives the memory back when the segment is dropped.
func (x *segIndex) release() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.charge(-x.charged)
	x.offsets.tail, x.offsets.sample, x.times.tail, x.times.sample, x.recent = nil, nil, nil, nil, nil
}

// full tells whether either file would pass its limit; the time index keeps room for its last entry.
func (x *segIndex) full(limitBytes int64) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return int64(x.offsets.count()) >= limitBytes/offsetEntrySize || int64(x.times.count()) >= limitBytes/timeEntrySize-1
}

// unwritten is the memory held by entries that are not in the files.
func (x *segIndex) unwritten() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.offsets.tail) + len(x.times.tail)
}

// floorOffset finds where to begin to look for an offset: the start of a batch that ends at or before it.
func (x *segIndex) floorOffset(o model.Offset) (pos int64, err error) {
	e, ok, err := x.floor(&x.offsets, suffixIndex, int64(relative(x.base, o)), keyOffset)
	if !ok {
		return 0, err
	}
	return keyPos(e[:]), nil
}

// floorPos finds the last indexed batch that begins at or before a position; 0 is the start of the file.
func (x *segIndex) floorPos(pos int64) (int64, error) {
	e, ok, err := x.floor(&x.offsets, suffixIndex, pos, keyPos)
	if !ok {
		return 0, err
	}
	return keyPos(e[:]), nil
}

// floorTime finds an offset before which every record is older than the timestamp, or just as old.
func (x *segIndex) floorTime(timestampMs int64) (model.Offset, error) {
	e, ok, err := x.floor(&x.times, suffixTimeIndex, timestampMs, keyTime)
	if !ok {
		return x.base, err
	}
	return x.base + model.Offset(keyTimeOffset(e[:])), nil
}

func (x *segIndex) floor(t *table, s suffix, target int64, k key) (e entry, ok bool, err error) {
	x.mu.Lock()
	now, recent := *t, x.recent
	x.mu.Unlock()
	e, ok, done := now.floorInMemory(target, k)
	if done {
		return e, ok, nil
	}
	if s == suffixIndex && brackets(recent, now.width, target, k) {
		copy(e[:], recent[floorIn(recent, now.width, target, k)*now.width:][:now.width])
		return e, true, nil
	}
	var block []byte
	err = x.read(s, func(f vfs.File) error {
		e, ok, block, err = now.floorOnDisk(f, target, k)
		return err
	})
	if err == nil && s == suffixIndex {
		x.keepRecent(block)
	}
	return e, ok && err == nil, err
}

// keepRecent remembers a block while there is memory for it.
func (x *segIndex) keepRecent(block []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.budget.scarce() {
		block = nil
	}
	x.charge(cap(block) - cap(x.recent))
	x.recent = block
}

// greatest is the greatest timestamp of the segment; noTime when no batch has one.
func (x *segIndex) greatest() timedMax {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.max
}

func (x *segIndex) read(s suffix, work func(vfs.File) error) error {
	return x.log.readBeside(s, work)
}

// name is for the lanes, with which no rename goes on at the same time.
func (x *segIndex) name(s suffix) fileID {
	id, _ := x.log.beside(s)
	return id
}
