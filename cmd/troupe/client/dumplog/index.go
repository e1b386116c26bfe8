package dumplog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"troupe/codec/batch"
)

// Entries of index files (facts/storage-format.md), big-endian; offsets are relative to the segment's.
const (
	offsetEntry = 8  // offset int32 | position int32
	timeEntry   = 12 // timestamp int64 | offset int32
)

// place is an entry of an offset index.
type place struct {
	Offset   int64 `json:"offset"`
	Position int64 `json:"position"`
}

func (p place) String() string { return fmt.Sprintf("offset: %d position: %d", p.Offset, p.Position) }

// moment is an entry of a time index.
type moment struct {
	Timestamp int64 `json:"timestamp"`
	Offset    int64 `json:"offset"`
}

func (m moment) String() string {
	return fmt.Sprintf("timestamp: %d offset: %d", m.Timestamp, m.Offset)
}

// baseOffset reads the offset that the names of a segment's files begin with.
func baseOffset(file string) (int64, error) {
	stem, _, _ := strings.Cut(filepath.Base(file), ".")
	base, err := strconv.ParseInt(stem, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the name of %s is not the offset it starts at", file)
	}
	return base, nil
}

// beside gives the file of another suffix that belongs to the same segment.
func beside(file, suffix string) string {
	stem, _, _ := strings.Cut(filepath.Base(file), ".")
	return filepath.Join(filepath.Dir(file), stem+suffix)
}

// readPlaces reads an offset index: one entry for about every index.interval.bytes of the log. A piece of an entry at the
// end is left out, and its length tells of it.
func readPlaces(file string, base int64) ([]place, int, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, 0, err
	}
	places := make([]place, 0, len(b)/offsetEntry)
	for i := 0; i+offsetEntry <= len(b); i += offsetEntry {
		places = append(places, place{
			// Relative offsets are signed, so a damaged index can point before its segment: saneOffsets looks for that.
			base + int64(int32(binary.BigEndian.Uint32(b[i:]))), int64(int32(binary.BigEndian.Uint32(b[i+4:]))),
		})
	}
	return places, len(b), nil
}

// written cuts the entries that were only preallocated: they are zero, which no entry after the first can be.
func written[E any](entries []E, base int64, offset func(E) int64) []E {
	for i := 1; i < len(entries); i++ {
		if offset(entries[i]) == base {
			return entries[:i]
		}
	}
	return entries
}

// indexed gives the log that an index belongs to, and the offset that its entries count from. The script reads no index
// whose log is not beside it, since it cannot check one.
func indexed(file string) (logFile string, base int64, err error) {
	if base, err = baseOffset(file); err != nil {
		return "", 0, err
	}
	logFile = beside(file, ".log")
	_, err = os.Stat(logFile)
	return logFile, base, err
}

// index shows an offset index, and holds each entry against the batch it points at, whose last offset it must have.
func (d *dumper) index(file string) error {
	logFile, base, err := indexed(file)
	if err != nil {
		return err
	}
	places, size, err := readPlaces(file, base)
	if err != nil {
		return err
	}
	if len(places) == 0 {
		d.emit(note{file + " is empty."})
		return nil
	}
	if d.sanityOnly {
		return d.sane(file, "Index", size, offsetEntry, saneOffsets(file, base, places))
	}
	for _, p := range written(places, base, func(p place) int64 { return p.Offset }) {
		found, err := batchAt(logFile, p.Position, d.maxMessageSize)
		if err != nil {
			return fmt.Errorf("%s, entry of offset %d: %w", file, p.Offset, err)
		}
		if found != p.Offset {
			d.problems.index(file, p.Offset, found)
		}
		if !d.verifyOnly {
			d.emit(p)
		}
	}
	return nil
}

// sane says that an index passed, or what a broker would rebuild it for.
func (d *dumper) sane(file, kind string, size, entry int, wrong error) error {
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	switch {
	case wrong != nil:
		return wrong
	case size%entry != 0:
		return fmt.Errorf("%s file %s is corrupt, found %d bytes which is neither positive nor a multiple of %d", kind, path, size, entry)
	}
	d.emit(note{file + " passed sanity check."})
	return nil
}

// saneOffsets is the check a broker makes when it starts, of the last entry alone.
func saneOffsets(file string, base int64, places []place) error {
	last := places[len(places)-1].Offset
	if last >= base {
		return nil
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	return fmt.Errorf("Corrupt index found, index file %s has non-zero size but the last offset is %d which is less than the base offset %d", path, last, base)
}

// errFound ends a walk over batches.
var errFound = errors.New("found")

// batchAt gives the last offset of the batch at a position.
func batchAt(logFile string, position, limit int64) (int64, error) {
	found := int64(-1)
	_, err := eachBatch(logFile, position, limit, func(v batch.View, _ int64) error {
		found = int64(v.LastOffset())
		return errFound
	})
	switch {
	case errors.Is(err, errFound):
		return found, nil
	case err != nil:
		return 0, err
	}
	return 0, fmt.Errorf("no batch stands at position %d of %s", position, logFile)
}
