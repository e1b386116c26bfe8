package api

import (
	"errors"
	"maps"
	"sync"
	"sync/atomic"

	"troupe/actors/replica"
	"troupe/codec/batch"
	"troupe/codec/kerr"
)

// Stats counts what the broker's metrics tell of requests and topics (facts/metrics.csv). Its methods are safe for
// concurrent use; those that a request passes through do not allocate.
type Stats struct {
	requests [slots]atomic.Pointer[RequestStats]

	// topics is replaced whole when one comes or goes.
	topics atomic.Pointer[map[string]*Traffic]
	mu     sync.Mutex // orders the replacements, and keeps sums whole
	// rest counts for topics above TopicBudget and for those that are not here; former for deleted ones.
	rest, former Traffic

	// Replication is what moves between brokers.
	Replication replica.Counts
}

// TopicBudget is how many topics are counted apart: a client that creates topics without end costs the broker and its
// Prometheus no series without end.
const TopicBudget = 1000

// Traffic counts what clients moved into and out of a topic. All counters only grow.
type Traffic struct {
	MessagesIn, BytesIn, BytesOut  atomic.Int64
	BytesRejected                  atomic.Int64 // of batches that break a rule
	CorruptBatches                 atomic.Int64
	MisnumberedBatches             atomic.Int64 // with offsets or sequence numbers that cannot be
	KeylessRecords                 atomic.Int64 // for compacted topics
	ProduceRequests, FetchRequests atomic.Int64 // one a partition, as Kafka counts
	FailedProduce, FailedFetch     atomic.Int64 // failures that are not answered with a code every client expects
}

// Topic gives the counters of a topic that this broker has.
func (s *Stats) Topic(name string) *Traffic {
	if known := s.topics.Load(); known != nil {
		if t := (*known)[name]; t != nil {
			return t
		}
	}
	return s.newTopic(name)
}

func (s *Stats) newTopic(name string) *Traffic {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.known()
	if t := known[name]; t != nil {
		return t
	}
	if len(known) >= TopicBudget {
		return &s.rest
	}
	next := make(map[string]*Traffic, len(known)+1)
	maps.Copy(next, known)
	next[name] = &Traffic{}
	s.topics.Store(&next)
	return next[name]
}

// Elsewhere gives the counters of all topics that have none of their own.
func (s *Stats) Elsewhere() *Traffic { return &s.rest }

func (s *Stats) known() map[string]*Traffic {
	if p := s.topics.Load(); p != nil {
		return *p
	}
	return nil
}

// Topics gives the counters by topic; the map is not to be changed.
func (s *Stats) Topics() map[string]*Traffic { return s.known() }

// Total sums up all topics, those that are gone too.
func (s *Stats) Total() *Traffic {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := &Traffic{}
	sum.add(&s.rest)
	sum.add(&s.former)
	for _, t := range s.known() {
		sum.add(t)
	}
	return sum
}

// Forget ends the counting of topics that are gone; the total keeps what they had.
func (s *Stats) Forget(gone func(topic string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := maps.Clone(s.known())
	maps.DeleteFunc(kept, func(name string, t *Traffic) bool {
		if !gone(name) {
			return false
		}
		s.former.add(t)
		return true
	})
	if len(kept) < len(s.known()) {
		s.topics.Store(&kept)
	}
}

func (t *Traffic) add(o *Traffic) {
	t.MessagesIn.Add(o.MessagesIn.Load())
	t.BytesIn.Add(o.BytesIn.Load())
	t.BytesOut.Add(o.BytesOut.Load())
	t.BytesRejected.Add(o.BytesRejected.Load())
	t.ProduceRequests.Add(o.ProduceRequests.Load())
	t.FetchRequests.Add(o.FetchRequests.Load())
	t.FailedProduce.Add(o.FailedProduce.Load())
	t.FailedFetch.Add(o.FailedFetch.Load())
	t.CorruptBatches.Add(o.CorruptBatches.Load())
	t.MisnumberedBatches.Add(o.MisnumberedBatches.Load())
	t.KeylessRecords.Add(o.KeylessRecords.Load())
}

// refused counts why a batch was not taken, where that has a metric of its own.
func (t *Traffic) refused(err error) {
	if errors.As(err, new(*batch.NumbersError)) {
		t.MisnumberedBatches.Add(1)
	}
	var records *batch.RecordsError
	if errors.As(err, &records) {
		t.KeylessRecords.Add(int64(records.Keyless))
	}
}

// produced counts one partition of a Produce. Which codes count as failures is Kafka's choice (ReplicaManager).
func (t *Traffic) produced(code kerr.Code, records []byte) {
	t.ProduceRequests.Add(1)
	bytes := int64(len(records))
	switch code {
	case kerr.None, kerr.NotEnoughReplicasAfterAppend, kerr.RequestTimedOut: // it is in the log
		t.BytesIn.Add(bytes)
		t.MessagesIn.Add(int64(batch.View(records).Count()))
	case kerr.CorruptMessage:
		t.CorruptBatches.Add(1)
		t.BytesRejected.Add(bytes)
	case kerr.MessageTooLarge, kerr.RecordListTooLarge:
		t.BytesRejected.Add(bytes)
	case kerr.InvalidRecord, kerr.InvalidTimestamp, kerr.UnsupportedCompressionType:
		t.BytesRejected.Add(bytes)
		t.FailedProduce.Add(1)
	case kerr.UnknownTopicOrPartition, kerr.UnknownTopicID, kerr.NotLeaderOrFollower, kerr.KafkaStorageError:
	default:
		t.FailedProduce.Add(1)
	}
}

// fetched counts one partition of a Fetch; the bytes are those for consumers.
func (t *Traffic) fetched(code kerr.Code, bytes int64) {
	t.FetchRequests.Add(1)
	t.BytesOut.Add(bytes)
	if code == kerr.UnknownServerError || code == kerr.CorruptMessage {
		t.FailedFetch.Add(1)
	}
}
