package partitionlog

import (
	"encoding/binary"
	"os"
	"sort"

	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog/producer"
)

// An entry of a transaction index, big-endian; there is one for each aborted transaction, in the segment of its marker
// and in the order of the markers (facts/storage-format.md 5):
//
//	version int16 0 · producer id int64 · first offset int64 · last offset int64 (the marker's) · last stable offset int64
const (
	txnEntrySize    = 34
	txnEntryVersion = 0
)

func appendTxnEntry(dst []byte, c producer.Completed) []byte {
	be := binary.BigEndian
	dst = be.AppendUint16(dst, txnEntryVersion)
	dst = be.AppendUint64(dst, uint64(c.ProducerID))
	dst = be.AppendUint64(dst, uint64(c.FirstOffset))
	dst = be.AppendUint64(dst, uint64(c.LastOffset))
	return be.AppendUint64(dst, uint64(c.LastStable))
}

func decodeTxnEntry(b []byte) producer.Completed {
	be := binary.BigEndian
	return producer.Completed{
		ProducerID:  model.ProducerID(be.Uint64(b[2:])),
		FirstOffset: model.Offset(be.Uint64(b[10:])),
		LastOffset:  model.Offset(be.Uint64(b[18:])),
		LastStable:  model.Offset(be.Uint64(b[26:])),
		Aborted:     true,
	}
}

// txnAppender is the end of a segment's transaction index, in bytes: with the markers that are staged, of those that are
// written, and of those that are synced.
type txnAppender struct {
	size    int64
	written int64
	synced  int64
}

// txnEntries are entries on their way to the file; they go with the append of the marker, so that whoever sees the
// marker finds them.
type txnEntries struct {
	at   int64
	data []byte
}

func (t *txnEntries) end() int64 { return t.at + int64(len(t.data)) }

func (t *txnEntries) write(s *segment) error {
	id := fileID{offset: s.base, suffix: suffixTxnIndex}
	return s.file.cache.once(s.file.dir, id, os.O_RDWR|os.O_CREATE, func(f vfs.File) error {
		_, err := f.WriteAt(t.data, t.at)
		return err
	})
}

// readTxnIndex gives the entries of a segment's transaction index. What cannot follow them is a *CorruptionError after
// the entries before it: another version, a part of an entry, or zeros that the disk has in place of one.
func readTxnIndex(s *segment) (entries []producer.Completed, err error) {
	var data []byte
	err = s.file.readBeside(suffixTxnIndex, func(f vfs.File) error {
		data, err = readWhole(f)
		return err
	})
	if err != nil {
		return nil, err
	}
	id := fileID{offset: s.base, suffix: suffixTxnIndex}
	last := s.base - 1
	for at := 0; at < len(data); at += txnEntrySize {
		sound := at+txnEntrySize <= len(data) && binary.BigEndian.Uint16(data[at:]) == txnEntryVersion
		var e producer.Completed
		if sound {
			e = decodeTxnEntry(data[at:])
			sound = e.LastOffset > last && e.FirstOffset < e.LastOffset
		}
		if !sound {
			return entries, &CorruptionError{File: id.String(), Pos: int64(at), Offset: last + 1,
				Reason: "no entry of a transaction index"}
		}
		last = e.LastOffset
		entries = append(entries, e)
	}
	return entries, nil
}

// readAll reads a small file.
func readAll(c *FileCache, dir *directory, id fileID) (data []byte, err error) {
	err = c.once(dir, id, os.O_RDONLY, func(f vfs.File) error {
		data, err = readWhole(f)
		return err
	})
	return data, err
}

func readWhole(f vfs.File) ([]byte, error) {
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	data := make([]byte, size)
	return data, readFull(f, data, 0)
}

// txnWindow is how many entries a search reads at once.
const txnWindow = 128

// abortedIn adds the transactions with records in [from, to) whose markers are in this segment. Markers rise, so the
// first of interest is found by halving; complete tells that no later marker can matter: an entry's last stable offset
// says that all transactions that began before it are decided.
func (s *segment) abortedIn(from, to model.Offset, out *[]AbortedTxn) (complete bool, err error) {
	err = s.file.readBeside(suffixTxnIndex, func(f vfs.File) error {
		size, err := f.Size()
		if err != nil {
			return err
		}
		var one [txnEntrySize]byte
		count := int(size / txnEntrySize)
		first := sort.Search(count, func(i int) bool {
			if err == nil {
				err = readFull(f, one[:], int64(i)*txnEntrySize)
			}
			return err != nil || decodeTxnEntry(one[:]).LastOffset >= from
		})
		var window [txnWindow * txnEntrySize]byte
		for ; err == nil && first < count; first += txnWindow {
			read := window[:min(txnWindow, count-first)*txnEntrySize]
			if err = readFull(f, read, int64(first)*txnEntrySize); err != nil {
				break
			}
			for ; len(read) > 0; read = read[txnEntrySize:] {
				e := decodeTxnEntry(read)
				if e.FirstOffset < to {
					*out = append(*out, AbortedTxn{ProducerID: e.ProducerID, FirstOffset: e.FirstOffset})
				}
				if e.LastStable >= to {
					complete = true
					return nil
				}
			}
		}
		return err
	})
	return complete, err
}
