package partitionlog

import (
	"troupe/codec/batch"
	"troupe/partitionlog/producer"
)

// produced is what a batch means to the producer state.
type produced struct {
	kind   producedKind
	batch  producer.Batch
	marker producer.Marker
}

type producedKind uint8

const (
	producesNothing producedKind = iota
	producesData
	producesMarker
)

// parseProducer reads a batch. Only a marker has to be there whole; of others the header is enough.
func parseProducer(v batch.View) (produced, error) {
	id := v.ProducerID()
	switch {
	case id < 0:
		return produced{}, nil
	case v.Control():
		m, ok, err := parseMarker(v)
		if err != nil || !ok {
			return produced{}, err
		}
		return produced{kind: producesMarker, marker: m}, nil
	}
	return produced{kind: producesData, batch: producer.Batch{
		ProducerID: id, Epoch: v.ProducerEpoch(), BaseSequence: v.BaseSequence(), BaseOffset: v.BaseOffset(),
		LastOffsetDelta: v.LastOffsetDelta(), MaxTimestampMs: v.MaxTimestamp(), Transactional: v.Transactional(),
	}}, nil
}

// parseMarker reads the control record that ends a transaction; ok is false for other control records, and for those
// of a newer version, which are to be passed over.
func parseMarker(v batch.View) (m producer.Marker, ok bool, err error) {
	m = producer.Marker{ProducerID: v.ProducerID(), Epoch: v.ProducerEpoch(), TimestampMs: v.MaxTimestamp()}
	err = v.Each(func(r batch.Record) error {
		c, err := batch.ParseControl(r.Key, r.Value)
		if err != nil {
			return err
		}
		if end, is := c.(batch.EndTxnMarker); is {
			m.Offset, m.CoordinatorEpoch, m.Abort, ok = r.Offset, end.CoordinatorEpoch, !end.Commit, true
		}
		return nil
	})
	return m, ok, err
}

// remember takes a batch at its place into the producer state, and gives the entry of the transaction index that it
// makes, if any.
func (l *Log) remember(v batch.View, p *produced, s *segment) *txnEntries {
	switch p.kind {
	case producesData:
		p.batch.BaseOffset, p.batch.MaxTimestampMs = v.BaseOffset(), v.MaxTimestamp()
		l.producers.Append(p.batch)
	case producesMarker:
		p.marker.Offset, p.marker.TimestampMs = v.BaseOffset(), v.MaxTimestamp()
		if c, ended := l.producers.Complete(p.marker); ended && c.Aborted {
			t := &txnEntries{at: s.txnIndex.size, data: appendTxnEntry(nil, c)}
			s.txnIndex.size += txnEntrySize
			s.aborted.Store(true)
			return t
		}
	}
	return nil
}

// replay takes a batch read from a file into the producer state. It tells of the transaction that it ends.
func replay(s *producer.State, v batch.View) (ended producer.Completed, aborted bool, err error) {
	p, err := parseProducer(v)
	if err != nil {
		return producer.Completed{}, false, err
	}
	switch p.kind {
	case producesData:
		s.Append(p.batch)
	case producesMarker:
		c, ok := s.Complete(p.marker)
		return c, ok && c.Aborted, nil
	}
	return producer.Completed{}, false, nil
}

// ProducerCount is the number of producers that are remembered.
func (l *Log) ProducerCount() int { return l.producers.Len() }
