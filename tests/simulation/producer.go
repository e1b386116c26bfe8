package simulation

import (
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/batch"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// producer is an idempotent producer with acks=all for one partition, with a few batches in flight. After an error it sends
// everything again from the first batch on that was not acknowledged, as Kafka's client does.
type producer struct {
	*client
	name      string
	topic     string
	partition int
	ledger    *ledger
	window    int

	id       int64
	epoch    int16
	next     int // the number of the next record
	sequence int32
	known    bool       // it has an id
	working  bool       // batches are being made
	begun    bool       // a batch of this id was acknowledged
	queue    []*sending // not acknowledged, in order
	inFlight int
	round    int // counts the times that all was sent again: answers of an earlier one do not matter
	resting  bool
	stopped  bool
}

// sending is a batch until it is acknowledged.
type sending struct {
	sequence int32
	values   []string
	topic    model.TopicID // that it was sent to
	sent     bool
	tries    int
}

// firstTimestamp is of all records: their bytes must not depend on a broker's clock.
var firstTimestamp = epoch.UnixMilli()

func (p *producer) start() { p.refresh(p.introduce) }

// introduce gets a producer id.
func (p *producer) introduce() {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version, req.ProducerID, req.ProducerEpoch = 4, -1, -1
	p.call(p.anyBroker(), req, func(resp kmsg.Response, err error) {
		if err == nil {
			got := resp.(*kmsg.InitProducerIDResponse)
			if got.ErrorCode == 0 {
				p.id, p.epoch = got.ProducerID, got.ProducerEpoch
				p.world.note("producer", "%s has id %d", p.name, p.id)
				p.sequence, p.begun = 0, false
				if p.known = true; !p.working {
					p.working = true
					p.work()
				}
				return
			}
			p.expect(kerr.Code(got.ErrorCode))
		}
		p.world.after(p.world.between(20*time.Millisecond, 200*time.Millisecond), p.introduce)
	})
}

// work makes a few batches at the pace of the load, as far as the window goes.
func (p *producer) work() {
	if p.stopped || p.world.load.enough() {
		return
	}
	n := 1 + p.world.random.IntN(p.window)
	for range n {
		if p.known && len(p.queue) < p.window {
			p.queue = append(p.queue, p.make())
		}
	}
	p.pump()
	p.world.after(time.Duration(n)*p.world.load.pause(), p.work)
}

// pump sends what the window has room for.
func (p *producer) pump() {
	if p.resting {
		return
	}
	leader, known := p.leader(p.topic, p.partition)
	if !known {
		p.rest()
		return
	}
	for i := 0; i < len(p.queue) && p.inFlight < p.room(); i++ {
		if s := p.queue[i]; !s.sent {
			p.send(leader, s)
		}
	}
}

// room is how many batches may be in flight: one until the first of its id is acknowledged, as franz-go has it. A log that does
// not know the producer takes any sequence for its first (facts/groups-txn.md), so that of two the second may be taken when
// the first was refused a moment before. With one that is refused again and again nothing else is sent, to see what comes of it.
func (p *producer) room() int {
	if !p.begun || len(p.queue) > 0 && p.queue[0].tries >= triesMax {
		return 1
	}
	return p.window
}

// triesMax is how often a batch is out of order before that is taken for more than the trace of earlier tries.
const triesMax = 3

// make makes the next batch.
func (p *producer) make() *sending {
	s := &sending{sequence: p.sequence}
	for range 1 + p.world.random.IntN(p.world.load.batchMax) {
		s.values = append(s.values, fmt.Sprintf("%s-%d%s", p.records(), p.next, strings.Repeat(".", p.world.random.IntN(40))))
		p.next++
	}
	p.sequence += int32(len(s.values))
	return s
}

// records is what all of its records begin with.
func (p *producer) records() string {
	if p.ledger.prefix != "" {
		return p.ledger.prefix
	}
	return p.name
}

// drop gives up all that is not acknowledged, for good.
func (p *producer) drop() {
	p.stopped = true
	p.round++
	p.queue, p.inFlight = nil, 0
}

func (p *producer) send(leader int, s *sending) {
	b := batch.NewBuilder(batch.Options{Producer: &batch.Producer{
		ID: model.ProducerID(p.id), Epoch: model.ProducerEpoch(p.epoch), Sequence: model.Sequence(s.sequence),
	}})
	for _, v := range s.values {
		b.Add(batch.Record{Timestamp: firstTimestamp, Value: []byte(v)})
	}
	records, err := b.Build()
	if err != nil {
		panic(err) // a batch of short records can be built
	}
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = 13, -1, 5000
	part := kmsg.NewProduceRequestTopicPartition()
	part.Partition, part.Records = int32(p.partition), records
	topic := kmsg.NewProduceRequestTopic()
	topic.TopicID, topic.Partitions = p.ids[p.topic], append(topic.Partitions, part)
	req.Topics = append(req.Topics, topic)
	s.topic = p.ids[p.topic]
	p.world.traps.produces(p.machine, leader)
	s.sent, p.inFlight = true, p.inFlight+1
	s.tries++
	round := p.round
	p.call(leader, req, func(resp kmsg.Response, err error) {
		if round != p.round {
			return
		}
		p.inFlight--
		p.answered(s, resp, err)
	})
}

// answered goes by the answer to one batch.
func (p *producer) answered(s *sending, resp kmsg.Response, err error) {
	if err != nil {
		p.again()
		return
	}
	part := resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0]
	code := kerr.Code(part.ErrorCode)
	switch {
	case code == kerr.None, code == kerr.DuplicateSequenceNumber:
		if p.queue[0] != s {
			if !p.ledger.forgiven {
				p.world.fail("%s: a batch is acknowledged before the one before it", p.name)
			}
			p.again()
			return
		}
		p.queue, p.begun = p.queue[1:], true
		// A duplicate of long ago has no offset.
		if code == kerr.None && part.BaseOffset >= 0 {
			p.ledger.acknowledge(part.BaseOffset, s.values)
			end := model.Offset(part.BaseOffset) + model.Offset(len(s.values))
			p.world.checks.holders.saw(replicaKey{s.topic, int32(p.partition)}, end)
		}
		p.world.load.acknowledged(len(s.values))
		p.pump()
	case code == kerr.OutOfOrderSequenceNumber && p.queue[0] == s && s.tries > triesMax && p.inFlight == 0:
		p.outOfOrder(s)
	default:
		p.expect(code)
		p.again()
	}
}

// outOfOrder: the log does not have what was acknowledged before this batch.
func (p *producer) outOfOrder(s *sending) {
	if !p.ledger.forgiven {
		p.world.fail("%s: the batch after the last that was acknowledged, of sequence %d, is out of order", p.name, s.sequence)
		return
	}
	p.queue, p.inFlight, p.known = nil, 0, false
	p.round++
	p.refresh(p.introduce)
}

// again sends everything anew that was not acknowledged, after a look at who leads.
func (p *producer) again() {
	p.round++
	p.inFlight = 0
	for _, s := range p.queue {
		s.sent = false
	}
	p.rest()
}

// rest waits a little and asks who leads.
func (p *producer) rest() {
	if p.resting {
		return
	}
	p.resting = true
	p.world.after(p.world.between(20*time.Millisecond, 200*time.Millisecond), func() {
		p.refresh(func() {
			p.resting = false
			p.pump()
		})
	})
}

// expect complains about codes that no fault explains.
func (c *client) expect(code kerr.Code) {
	switch code {
	case kerr.None, kerr.NotLeaderOrFollower, kerr.LeaderNotAvailable, kerr.NotEnoughReplicas, kerr.NotEnoughReplicasAfterAppend,
		kerr.UnknownTopicOrPartition, kerr.UnknownTopicID, kerr.InconsistentTopicID, kerr.RequestTimedOut, kerr.NotController, kerr.CoordinatorLoadInProgress,
		kerr.CoordinatorNotAvailable, kerr.NotCoordinator, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch, kerr.ReplicaNotAvailable,
		kerr.OffsetNotAvailable, kerr.OutOfOrderSequenceNumber, kerr.KafkaStorageError, kerr.BrokerNotAvailable, kerr.FetchSessionIDNotFound,
		kerr.TopicAlreadyExists, kerr.InvalidReplicationFactor, kerr.InvalidReplicaAssignment, kerr.OffsetOutOfRange:
	case kerr.GroupIDNotFound:
		if c.world.checks.losses.offsets { // the group went with its commits
			return
		}
		fallthrough
	default:
		c.world.fail("a client gets %s", code.Name())
	}
}
