package partitionlog

import (
	"encoding/binary"
	"sort"

	"troupe/internal/model"
	"troupe/internal/vfs"
)

// The entries of the two index files, big-endian (facts/storage-format.md 5):
//
//	.index      relative offset int32 · position int32                 8 bytes
//	.timeindex  timestamp int64 (ms)  · relative offset int32         12 bytes
//
// An offset entry says where the batch begins that ends with the offset; a time entry gives the greatest timestamp up
// to and with the batch that ends with the offset. Both rise strictly from entry to entry. Kafka fills the file of an
// active segment with zeros up to its full size; here files have the size of their entries.
const (
	offsetEntrySize = 8
	timeEntrySize   = 12
	// blockEntries is how many entries a search reads at once, and the distance of the entries in a sample.
	blockEntries = 512
)

// entry is one entry as it stands in its file; the shorter kind leaves the end unused.
type entry [timeEntrySize]byte

func offsetEntry(relative int32, pos int64) (e entry) {
	binary.BigEndian.PutUint32(e[:], uint32(relative))
	binary.BigEndian.PutUint32(e[4:], uint32(pos))
	return e
}

func timeEntry(timestampMs int64, relative int32) (e entry) {
	binary.BigEndian.PutUint64(e[:], uint64(timestampMs))
	binary.BigEndian.PutUint32(e[8:], uint32(relative))
	return e
}

// A key is what a search compares.
type key func(e []byte) int64

func keyOffset(e []byte) int64     { return int64(int32(binary.BigEndian.Uint32(e))) }
func keyPos(e []byte) int64        { return int64(binary.BigEndian.Uint32(e[4:])) }
func keyTime(e []byte) int64       { return int64(binary.BigEndian.Uint64(e)) }
func keyTimeOffset(e []byte) int64 { return int64(int32(binary.BigEndian.Uint32(e[8:]))) }

// table is one index: onDisk entries in the file, the rest in tail. The bytes of tail and sample never change once they
// are there, so a copy of the struct is a snapshot that may be searched while the table grows.
type table struct {
	width  int // bytes an entry
	onDisk int
	tail   []byte
	// sample holds the first entry of each of the first blocks on disk, so that a search reads one block. Where it
	// ends, a search reads single entries.
	sample []byte
}

func (t *table) count() int { return t.onDisk + len(t.tail)/t.width }

// append adds an entry and tells by how much the memory grew.
func (t *table) append(e entry) (grown int) {
	before := cap(t.tail)
	t.tail = append(t.tail, e[:t.width]...)
	return cap(t.tail) - before
}

// written moves the first n bytes of tail to the disk's side. The rest gets memory of its own.
func (t *table) written(n int, keepSample bool) (grown int) {
	before := cap(t.tail) + cap(t.sample)
	for at := 0; at < n; at += t.width {
		number := t.onDisk + at/t.width
		if keepSample && number%blockEntries == 0 && len(t.sample)/t.width == number/blockEntries {
			t.sample = append(t.sample, t.tail[at:at+t.width]...)
		}
	}
	t.onDisk += n / t.width
	// Snapshots of the struct still search the old array.
	t.tail = append([]byte(nil), t.tail[n:]...)
	return cap(t.tail) + cap(t.sample) - before
}

// floorIn finds the greatest entry of a run of entries whose key is at most target; -1 when all are greater.
func floorIn(run []byte, width int, target int64, k key) int {
	return sort.Search(len(run)/width, func(i int) bool { return k(run[i*width:]) > target }) - 1
}

// floorInMemory searches what needs no file: done is false when the answer lies on disk.
func (t *table) floorInMemory(target int64, k key) (e entry, ok, done bool) {
	if i := floorIn(t.tail, t.width, target, k); i >= 0 {
		copy(e[:], t.tail[i*t.width:][:t.width])
		return e, true, true
	}
	return e, false, t.onDisk == 0
}

// brackets tells that the floor of target lies within a run of entries, whatever comes before and after it.
func brackets(run []byte, width int, target int64, k key) bool {
	return len(run) > 0 && k(run) <= target && k(run[len(run)-width:]) > target
}

// floorOnDisk searches the entries in the file, and gives the block that it found the answer in.
func (t *table) floorOnDisk(f vfs.File, target int64, k key) (e entry, ok bool, run []byte, err error) {
	// The sample covers the first blocks. Beyond it single entries are read, a dozen for the largest index.
	block := max(0, floorIn(t.sample, t.width, target, k))
	blocks := (t.onDisk + blockEntries - 1) / blockEntries
	if sampled := len(t.sample) / t.width; block == sampled-1 || sampled == 0 {
		block += sort.Search(blocks-block-1, func(i int) bool {
			if err == nil {
				err = readFull(f, e[:t.width], int64(block+i+1)*int64(blockEntries*t.width))
			}
			return err != nil || k(e[:]) > target
		})
		if err != nil {
			return entry{}, false, nil, err
		}
	}
	run = make([]byte, min(blockEntries, t.onDisk-block*blockEntries)*t.width)
	if err := readFull(f, run, int64(block)*int64(blockEntries*t.width)); err != nil {
		return entry{}, false, nil, err
	}
	i := floorIn(run, t.width, target, k)
	if i < 0 {
		return entry{}, false, run, nil
	}
	copy(e[:], run[i*t.width:][:t.width])
	return e, true, run, nil
}

// sound counts the leading entries of a file's content that can be entries: both fields rise strictly, and below holds.
// Zeros behind them are Kafka's unused space, or a page that was lost. An index that is cut short stays right: a search
// finds an earlier entry and walks further.
func sound(content []byte, width int, first, second key, below func(e []byte) bool) int {
	n := 0
	for at := 0; at+width <= len(content); at += width {
		e := content[at : at+width]
		if !below(e) || first(e) < 0 || second(e) < 0 {
			break
		}
		if at > 0 {
			prev := content[at-width : at]
			if first(e) <= first(prev) || second(e) <= second(prev) {
				break
			}
		} else if first(e) == 0 && second(e) == 0 && len(content) > width {
			break // a time entry of timestamp 0 and offset 0 can only stand alone
		}
		n++
	}
	return n
}

// relative gives an offset as index files hold it.
func relative(base, o model.Offset) int32 { return int32(o - base) }
