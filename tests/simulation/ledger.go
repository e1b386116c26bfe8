package simulation

import (
	"fmt"
	"slices"
	"strings"
)

// ledger is what clients know of one partition: what was acknowledged, and what somebody has read.
//
// Invariants, for a partition that is not forgiven:
//  1. what was acknowledged is read at the offset of the acknowledgement;
//  2. every reader finds the same record at an offset, whenever it looks;
//  3. no record is there twice;
//  4. no record is of a topic that had the name before;
//  5. what nobody has asked to be deleted is there.
type ledger struct {
	name  string
	world *World
	// acked and read are records by offset; where tells where a record was read.
	acked, read map[int64]string
	where       map[string]int64
	// end is the offset after the last that was acknowledged.
	end int64
	// prefix begins every record, where a topic of the name had others before.
	prefix string
	// trimmed is how far somebody has asked for records to be deleted.
	trimmed int64
	// forgiven is set when every replica that had to have something lost what was not synced: then anything may be gone.
	forgiven bool
}

func newLedger(w *World, name string) *ledger {
	return &ledger{name: name, world: w, acked: map[int64]string{}, read: map[int64]string{}, where: map[string]int64{}}
}

// trim notes that somebody asks for records to be deleted.
func (l *ledger) trim(to int64) { l.trimmed = max(l.trimmed, to) }

// acknowledge notes what a producer was told.
func (l *ledger) acknowledge(base int64, values []string) {
	l.end = max(l.end, base+int64(len(values)))
	for i, v := range values {
		o := base + int64(i)
		if other, ok := l.acked[o]; ok && other != v && !l.forgiven {
			l.world.fail("%s: offset %d was acknowledged for %s and then for %s", l.name, o, other, v)
			return
		}
		l.acked[o] = v
		if got, ok := l.read[o]; ok && got != v && !l.forgiven {
			l.world.fail("%s: offset %d was read as %s and then acknowledged for %s", l.name, o, got, v)
		}
	}
}

// observe notes what a reader found below the high watermark.
func (l *ledger) observe(o int64, v string) {
	if l.forgiven {
		return
	}
	if got, ok := l.read[o]; ok {
		if got != v {
			l.world.fail("%s: offset %d was read as %s and then as %s", l.name, o, got, v)
		}
		return
	}
	if !strings.HasPrefix(v, l.prefix) {
		l.world.fail("%s: %s at offset %d is of an earlier topic of the name", l.name, v, o)
	}
	l.read[o] = v
	if want, ok := l.acked[o]; ok && want != v {
		l.world.fail("%s: offset %d was acknowledged for %s and holds %s", l.name, o, want, v)
	}
	if at, ok := l.where[v]; ok {
		l.world.fail("%s: %s stands at %d and at %d", l.name, v, at, o)
	}
	l.where[v] = o
}

// settle looks for what was acknowledged and not read, once readers have come to the end of the log.
func (l *ledger) settle(end int64) error {
	if l.forgiven {
		return nil
	}
	var lost []int64
	for o := range l.acked {
		if _, ok := l.read[o]; !ok && o >= l.trimmed {
			lost = append(lost, o)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	slices.Sort(lost)
	return fmt.Errorf("%s: %d acknowledged records are gone, the first at offset %d of %d: %s", l.name, len(lost), lost[0], end, l.acked[lost[0]])
}
