package dumplog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sort"

	"troupe/codec/batch"
)

// readMoments reads a time index. Its entries rise in time and in offset, which checkMoment looks at.
func readMoments(file string, base int64) ([]moment, int, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, 0, err
	}
	moments := make([]moment, 0, len(b)/timeEntry)
	for i := 0; i+timeEntry <= len(b); i += timeEntry {
		moments = append(moments, moment{
			int64(binary.BigEndian.Uint64(b[i:])), base + int64(int32(binary.BigEndian.Uint32(b[i+8:]))),
		})
	}
	return moments, len(b), nil
}

// timeIndex shows a time index and holds it against the log, through the offset index beside it: without one every entry
// would cost a walk over the whole segment.
func (d *dumper) timeIndex(file string) error {
	logFile, base, err := indexed(file)
	if err != nil {
		return err
	}
	// An offset index that is missing is an error here: the script opens it, too.
	places, _, err := readPlaces(beside(file, ".index"), base)
	if err != nil {
		return err
	}
	places = written(places, base, func(p place) int64 { return p.Offset })
	moments, size, err := readMoments(file, base)
	if err != nil {
		return err
	}
	if d.sanityOnly {
		return d.sane(file, "Time index", size, timeEntry, saneMoments(file, base, moments))
	}
	previous := batch.NoTimestamp
	for _, m := range written(moments, base, func(m moment) int64 { return m.Offset }) {
		if err := d.checkMoment(file, logFile, places, m, previous); err != nil {
			return err
		}
		if !d.verifyOnly {
			d.emit(m)
		}
		previous = m.Timestamp
	}
	return nil
}

// checkMoment looks the entry's offset up in the log: a batch must end there, and the entry's timestamp must be the
// latest of its records and later than the entry before.
func (d *dumper) checkMoment(file, logFile string, places []place, m moment, previous int64) error {
	// The walk begins at the batch of the last index entry that is not behind the offset looked for.
	position := int64(0)
	if i := sort.Search(len(places), func(i int) bool { return places[i].Offset > m.Offset }); i > 0 {
		position = places[i-1].Position
	}
	found, latest := int64(-1), batch.NoTimestamp
	_, err := eachBatch(logFile, position, math.MaxInt32, func(v batch.View, _ int64) error {
		if int64(v.LastOffset()) < m.Offset {
			return nil
		}
		found = int64(v.LastOffset())
		if err := v.Each(func(r batch.Record) error {
			latest = max(latest, r.Timestamp)
			return nil
		}); err != nil {
			return err
		}
		return errFound
	})
	if err != nil && !errors.Is(err, errFound) {
		return err
	}
	if found != m.Offset {
		d.problems.notFound(file, m.Offset, found)
		return nil
	}
	if latest != m.Timestamp {
		d.problems.mismatch(file, m.Timestamp, latest)
	}
	if previous >= m.Timestamp {
		d.problems.outOfOrder(file, m.Timestamp, previous)
	}
	return nil
}

// saneMoments is the check a broker makes when it starts: of the first entry and the last.
func saneMoments(file string, base int64, moments []moment) error {
	if len(moments) == 0 {
		return nil
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	first, last := moments[0], moments[len(moments)-1]
	switch {
	case last.Timestamp < first.Timestamp:
		return fmt.Errorf("Corrupt time index found, time index file (%s) has non-zero size but the last timestamp is %d "+
			"which is less than the first timestamp %d", path, last.Timestamp, first.Timestamp)
	case last.Offset < base:
		return fmt.Errorf("Corrupt time index found, time index file (%s) has non-zero size but the last offset is %d "+
			"which is less than the first offset %d", path, last.Offset, base)
	}
	return nil
}
