package integration

import (
	"fmt"
	"math"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/tests/node"
	"troupe/tests/wire"
)

// producer is an idempotent producer of one partition (KIP-98).
type producer struct {
	conn  *wire.Conn
	to    topic
	id    int64
	epoch int16
}

func newProducer(t *testing.T, address string, to topic) *producer {
	t.Helper()
	conn := wire.Dial(t, address)
	var resp *kmsg.InitProducerIDResponse
	// A broker that just started may still be fetching its first block of ids: a retriable error.
	node.Eventually(t, "a producer id is given", func() bool {
		resp = wire.On[*kmsg.InitProducerIDResponse](conn, initProducerID(4))
		return resp.ErrorCode != kerr.CoordinatorLoadInProgress.Code
	})
	expectCode(t, resp.ErrorCode, 0)
	return &producer{conn: conn, to: to, id: resp.ProducerID, epoch: resp.ProducerEpoch}
}

func initProducerID(version int16) *kmsg.InitProducerIDRequest {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch = 60_000, -1, -1
	return wire.Versioned(req, version)
}

// send produces a batch of n records with a first sequence.
func (p *producer) send(sequence int32, n int) kmsg.ProduceResponseTopicPartition {
	batch := wire.Values(now())
	for i := range n {
		batch.Records = append(batch.Records, wire.Record{Value: []byte(fmt.Sprint(int(sequence) + i)), Delta: int32(i)})
	}
	batch.ProducerID, batch.ProducerEpoch, batch.Sequence = p.id, p.epoch, sequence
	return produce(p.conn, produceRequest(nameVersion, p.to, -1, batch.Bytes()))
}

func TestFiveBatchesAreRememberedAndTheSixthIsOutOfOrder(t *testing.T) {
	address := broker(t)
	p := newProducer(t, address, createTopic(t, address, 1))
	for i := range int32(6) {
		if got := p.send(2*i, 2); got.ErrorCode != 0 || got.BaseOffset != int64(2*i) {
			t.Fatalf("batch %d: error %d, offset %d", i, got.ErrorCode, got.BaseOffset)
		}
	}
	for i := range int32(5) {
		got := p.send(2+2*i, 2)
		expectCode(t, got.ErrorCode, 0)
		if got.BaseOffset != int64(2+2*i) {
			t.Errorf("the duplicate of sequence %d has offset %d, want its first one", 2+2*i, got.BaseOffset)
		}
	}
	expectCode(t, p.send(0, 2).ErrorCode, kerr.OutOfOrderSequenceNumber.Code)
	if end := listOffset(p.conn, p.to.name, 0, -1).Offset; end != 12 {
		t.Errorf("the log ends at %d, want 12: nothing was stored twice", end)
	}
}

func TestSequencesFollowEachOther(t *testing.T) {
	address := broker(t)
	cases := []struct {
		title    string
		sequence int32
		records  int
		want     int16
	}{
		{"the next", 3, 1, 0},
		{"a gap", 5, 1, kerr.OutOfOrderSequenceNumber.Code},
		{"a step back", 1, 1, kerr.OutOfOrderSequenceNumber.Code},
		{"an overlap with what was sent", 2, 3, kerr.OutOfOrderSequenceNumber.Code},
		{"the beginning of what was sent", 0, 2, kerr.OutOfOrderSequenceNumber.Code},
		{"what was sent", 0, 3, 0},
	}
	for _, c := range cases {
		t.Run(c.title, func(t *testing.T) {
			p := newProducer(t, address, createTopic(t, address, 1))
			expectCode(t, p.send(0, 3).ErrorCode, 0)
			expectCode(t, p.send(c.sequence, c.records).ErrorCode, c.want)
		})
	}
}

func TestAnUnknownProducerMayStartAnywhere(t *testing.T) {
	address := broker(t)
	p := newProducer(t, address, createTopic(t, address, 1))
	expectCode(t, p.send(7, 2).ErrorCode, 0)
	expectCode(t, p.send(9, 1).ErrorCode, 0)
}

func TestSequencesWrapAfterTheLargest(t *testing.T) {
	address := broker(t)
	p := newProducer(t, address, createTopic(t, address, 1))
	expectCode(t, p.send(math.MaxInt32-1, 1).ErrorCode, 0)
	// Three records: the last sequence, then 0 and 1.
	got := p.send(math.MaxInt32, 3)
	expectCode(t, got.ErrorCode, 0)
	expectCode(t, p.send(2, 1).ErrorCode, 0)
	again := p.send(math.MaxInt32, 3)
	expectCode(t, again.ErrorCode, 0)
	if again.BaseOffset != got.BaseOffset {
		t.Errorf("the duplicate has offset %d, want %d", again.BaseOffset, got.BaseOffset)
	}
}

func TestANewEpochStartsAtZeroAndFencesTheOld(t *testing.T) {
	address := broker(t)
	p := newProducer(t, address, createTopic(t, address, 1))
	expectCode(t, p.send(0, 1).ErrorCode, 0)
	p.epoch++
	expectCode(t, p.send(5, 1).ErrorCode, kerr.OutOfOrderSequenceNumber.Code)
	expectCode(t, p.send(0, 1).ErrorCode, 0)
	p.epoch--
	expectCode(t, p.send(1, 1).ErrorCode, kerr.InvalidProducerEpoch.Code)
}

func TestProducerIDsAreNeverGivenTwice(t *testing.T) {
	address := broker(t)
	newProducer(t, address, topic{})
	seen := map[int64]bool{}
	for version := range int16(6) {
		for range 3 {
			resp := wire.Ask[*kmsg.InitProducerIDResponse](t, address, initProducerID(version))
			expectCode(t, resp.ErrorCode, 0)
			if resp.ProducerID < 0 || resp.ProducerEpoch != 0 || seen[resp.ProducerID] {
				t.Errorf("v%d: producer id %d, epoch %d", version, resp.ProducerID, resp.ProducerEpoch)
			}
			seen[resp.ProducerID] = true
		}
	}
}

func TestAProducerIsDescribed(t *testing.T) {
	address := broker(t)
	p := newProducer(t, address, createTopic(t, address, 1))
	p.send(0, 3)
	req := kmsg.NewPtrDescribeProducersRequest()
	asked := kmsg.NewDescribeProducersRequestTopic()
	asked.Topic, asked.Partitions = p.to.name, []int32{0, 4}
	req.Topics = append(req.Topics, asked)
	got := wire.On[*kmsg.DescribeProducersResponse](p.conn, req).Topics[0].Partitions
	if len(got) != 2 || len(got[0].ActiveProducers) != 1 {
		t.Fatalf("answered %+v", got)
	}
	active := got[0].ActiveProducers[0]
	if active.ProducerID != p.id || active.ProducerEpoch != int32(p.epoch) || active.LastSequence != 2 || active.CurrentTxnStartOffset != -1 {
		t.Errorf("described as %+v", active)
	}
	expectCode(t, got[1].ErrorCode, kerr.UnknownTopicOrPartition.Code)
}
