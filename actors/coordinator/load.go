package coordinator

import (
	"errors"
	"fmt"
	"io"
	"time"

	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/codec/batch"
	"troupe/internal/model"
	"troupe/partitionlog"
)

// loading is a machine on its way through the log.
type loading struct {
	machine Machine
	epoch   model.LeaderEpoch
	at      model.Offset // the next one to be read
	end     model.Offset
	began   time.Time
	wait    time.Duration // before the next look at the replica
	// failed says that an attempt found a record that it could not take: clients are told that nobody coordinates here, as
	// Kafka tells them, rather than to wait for a loading that may never end.
	failed  bool
	records int
}

// The replica is looked at so often until it leads and everything in it is committed.
const (
	firstPoll = 5 * time.Millisecond
	lastPoll  = time.Second
)

// begin throws the machine away and loads the log. Who waits is sent to try again.
func (p *partition) begin(ctx *kit.Context) {
	p.dismiss()
	p.attempt++
	p.machine, p.flights, p.gathered = nil, nil, nil
	p.loading = &loading{began: ctx.Now(), wait: firstPoll}
	p.poll(ctx)
}

// poll starts to read once the replica leads at the epoch of the order and all that it has is committed: then nothing
// that is loaded can be taken back.
func (p *partition) poll(ctx *kit.Context) {
	lead, l := p.kept.lead, p.loading
	st, view := lead.Handle.Status(), lead.Handle.View()
	if !st.Leader || !st.Online || st.LeaderEpoch < lead.LeaderEpoch || view == nil || view.HighWatermark < view.LogEnd {
		p.pollLater(ctx)
		return
	}
	if l.machine == nil || l.epoch != st.LeaderEpoch {
		// Under another epoch the log may have been cut and written anew meanwhile.
		l.machine, l.epoch, l.at = p.deps.New(), st.LeaderEpoch, view.LogStart
	}
	if l.at >= view.LogEnd {
		p.finish(ctx)
		return
	}
	l.end = view.LogEnd
	// At every piece everything before its end is committed, so the machine keeps no history of it.
	l.machine.Committed(At{Time: ctx.Now(), Next: l.end}, l.end)
	p.read(ctx, view)
}

func (p *partition) pollLater(ctx *kit.Context) {
	ctx.After(p.loading.wait, &pollDue{p.attempt})
	p.loading.wait = min(2*p.loading.wait, lastPoll)
}

// read has the next piece of the log read by the lane of cold reads.
func (p *partition) read(ctx *kit.Context, view *partitionlog.View) {
	h, l, self := p.kept.lead.Handle, p.loading, ctx.Self()
	res := &loaded{attempt: p.attempt}
	from, end, most := l.at, l.end, p.deps.LoadBytes
	ctx.Send(h.Dir().ColdLane(h.TP), &disk.Task{
		Name: "load " + h.TP.String(),
		Do: func() error {
			r, err := view.Read(from, end, most, true)
			if err != nil {
				return err
			}
			defer r.Release()
			if r.Len == 0 {
				return nil
			}
			res.batches = make([]byte, r.Len)
			_, err = io.ReadFull(io.NewSectionReader(r.File, r.Pos, r.Len), res.batches)
			return err
		},
		Done: func(err error) {
			res.err = err
			self.Send(res)
		},
	})
}

// load replays a piece and asks for the next one. A record that is not understood keeps the partition from being served:
// going on without it would answer from a state that never was. It is tried again, since a cleaner, or newer software, may
// mend it.
func (p *partition) load(ctx *kit.Context, m *loaded) {
	l := p.loading
	err := m.err
	if err == nil {
		err = p.replay(m.batches)
	}
	switch {
	case errors.Is(err, partitionlog.ErrStale):
		p.begin(ctx) // the log was cut at the front meanwhile
		return
	case err != nil:
		if !l.failed { // told once, however often it is tried
			p.deps.Log.Error("coordinator cannot load its partition", "partition", p.kept.lead.Handle.TP.String(), "offset", int64(l.at), "err", err)
		}
		wait := max(l.wait, time.Second)
		p.loading = &loading{began: l.began, wait: wait, failed: true}
		p.pollLater(ctx)
		return
	case len(m.batches) == 0:
		l.at = l.end // nothing is left of the rest: compaction took it
	}
	p.poll(ctx)
}

func (p *partition) replay(batches []byte) error {
	l := p.loading
	for len(batches) > 0 {
		v, rest, err := batch.First(batches)
		if err == nil {
			err = v.CheckCRC()
		}
		if err != nil {
			return err
		}
		if err := p.replayBatch(v); err != nil {
			return err
		}
		batches, l.at = rest, v.NextOffset()
	}
	return nil
}

// replayBatch hands the records of a batch over, and the markers of transactions.
func (p *partition) replayBatch(v batch.View) error {
	l := p.loading
	o := Origin{ProducerID: model.NoProducerID}
	if v.Transactional() {
		o.ProducerID = v.ProducerID()
	}
	return v.Each(func(r batch.Record) error {
		o.Offset = r.Offset
		if o.Offset < l.at {
			return nil // the region begins with the batch that holds the first offset asked for
		}
		l.records++
		if v.Control() {
			c, err := batch.ParseControl(r.Key, r.Value)
			if marker, ends := c.(batch.EndTxnMarker); ends {
				l.machine.ReplayMarker(Origin{Offset: r.Offset, ProducerID: v.ProducerID()}, marker.Commit)
			}
			return err
		}
		if err := l.machine.Replay(o, Record{r.Key, r.Value}); err != nil {
			return fmt.Errorf("offset %d: %w", r.Offset, err)
		}
		return nil
	})
}

// finish takes the machine into service.
func (p *partition) finish(ctx *kit.Context) {
	l := p.loading
	p.loading = nil
	p.machine, p.epoch, p.next, p.committed = l.machine, l.epoch, l.at, l.at
	if l.records > 0 {
		p.deps.Log.Info("coordinator has loaded its partition", "partition", p.kept.lead.Handle.TP.String(),
			"records", l.records, "took", ctx.Now().Sub(l.began))
	}
	p.machine.Committed(p.at(ctx), l.at)
	p.apply(ctx, p.machine.Loaded(p.at(ctx)))
	p.tellMetadata(ctx)
}
