package quorum_test

import (
	"testing"
	"time"

	"troupe/cluster/quorum"
	"troupe/codec/batch"
	"troupe/internal/model"
)

// disk is a shell round a machine: it writes what it is told, in order, and keeps what was committed.
type disk struct {
	t       *testing.T
	machine *quorum.Machine
	// log and end are the durable log; hard is quorum-state.
	log  []batch.View
	end  model.Offset
	hard quorum.HardState
	// checkpoint is the newest one; the entries that it covers may be missing in committed, which has zeros for them.
	checkpoint quorum.Boundary
	committed  []quorum.Entry
	// pending are appends handed out that are not written yet.
	pending []*quorum.Append
	sent    []quorum.Message
	nowMs   int64
}

// take hands out what the machine wants, without writing anything.
func (d *disk) take() bool {
	d.t.Helper()
	d.nowMs++
	effects, err := d.machine.Take(time.UnixMilli(d.nowMs))
	if err != nil {
		d.t.Fatal(err)
	}
	d.pending = append(d.pending, effects.Appends...)
	d.committed = append(d.committed, effects.Committed...)
	d.sent = append(d.sent, effects.Send...)
	return len(effects.Appends) > 0 || len(effects.Committed) > 0 || len(effects.Send) > 0
}

// write makes the oldest pending append durable.
func (d *disk) write() {
	d.t.Helper()
	a := d.pending[0]
	d.pending = d.pending[1:]
	if a.Hard != nil {
		d.hard = *a.Hard
	}
	if a.Install != nil {
		d.log, d.end, d.checkpoint = nil, a.Install.End, *a.Install
		d.committed = make([]quorum.Entry, d.end)
	}
	for i, v := range a.Batches {
		if i == 0 && a.Truncate {
			d.truncate(v.BaseOffset())
		}
		if v.BaseOffset() != d.end {
			d.t.Fatalf("a batch at %d is written to a log that ends at %d", v.BaseOffset(), d.end)
		}
		if err := v.CheckCRC(); err != nil {
			d.t.Fatal(err)
		}
		d.log, d.end = append(d.log, v), v.NextOffset()
	}
	d.machine.Appended(a)
}

// truncate cuts the log so that it ends at an offset. A real log cuts inside a batch by rewriting it.
func (d *disk) truncate(end model.Offset) {
	d.t.Helper()
	for len(d.log) > 0 && d.log[len(d.log)-1].BaseOffset() >= end {
		d.log = d.log[:len(d.log)-1]
	}
	d.end = end
	if n := len(d.log); n > 0 && d.log[n-1].NextOffset() > end {
		d.log[n-1] = head(d.t, d.log[n-1], end)
	}
}

// begin is where the log begins.
func (d *disk) begin() model.Offset {
	if len(d.log) > 0 {
		return d.log[0].BaseOffset()
	}
	return d.end
}

// epochAt is that of the record at an offset of the log.
func (d *disk) epochAt(o model.Offset) model.LeaderEpoch {
	for _, v := range d.log {
		if o >= v.BaseOffset() && o < v.NextOffset() {
			return v.LeaderEpoch()
		}
	}
	return d.checkpoint.Epoch
}

// last is the epoch of the last record.
func (d *disk) last() model.LeaderEpoch { return d.epochAt(d.end - 1) }

// head gives the records of a batch before an offset, tail those from one on.
func head(t *testing.T, v batch.View, end model.Offset) batch.View {
	return part(t, v, 0, end)
}

func tail(t *testing.T, v batch.View, from model.Offset) batch.View {
	return part(t, v, from, v.NextOffset())
}

func part(t *testing.T, v batch.View, from, end model.Offset) batch.View {
	t.Helper()
	b := batch.NewBuilder(batch.Options{BaseOffset: max(from, v.BaseOffset()), LeaderEpoch: v.LeaderEpoch(), Control: v.Control()})
	err := v.Each(func(r batch.Record) error {
		if r.Offset >= from && r.Offset < end {
			b.Add(r)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	cut, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return cut
}

// settle runs until the machine wants nothing more.
func (d *disk) settle() {
	d.t.Helper()
	for d.take() || len(d.pending) > 0 {
		for len(d.pending) > 0 {
			d.write()
		}
	}
}
