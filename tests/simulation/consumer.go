package simulation

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/batch"
	"troupe/codec/kerr"
)

// consumer reads one partition from its beginning on, and now and then again.
type consumer struct {
	*client
	name      string
	topic     string
	partition int
	ledger    *ledger

	offset int64
	// watermark is the highest that it was told: a client never sees it go back.
	watermark int64
	caughtUp  bool // has had all that is committed, by the last reply
	stopped   bool
	// gone are ids of earlier topics of the name: a node that is cut off goes on to tell of one, and to serve it.
	gone map[[16]byte]bool
}

func (c *consumer) start() { c.refresh(c.fetch) }

func (c *consumer) again(after time.Duration) {
	c.world.after(after, func() { c.refresh(c.fetch) })
}

// fetch asks the leader for what comes next.
func (c *consumer) fetch() {
	if c.stopped {
		return
	}
	if id := c.ids[c.topic]; id == [16]byte{} || c.gone[id] {
		c.again(100 * time.Millisecond)
		return
	}
	leader, known := c.leader(c.topic, c.partition)
	if !known {
		c.again(100 * time.Millisecond)
		return
	}
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch, req.ReplicaID = 13, 500, 1, 1<<20, -1, -1
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = int32(c.partition), c.offset, 1<<16
	// Without it a follower may answer from its shorter log (KIP-392).
	p.CurrentLeaderEpoch = c.epochs[c.topic][c.partition]
	t := kmsg.NewFetchRequestTopic()
	t.TopicID, t.Partitions = c.ids[c.topic], append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	c.call(leader, req, func(resp kmsg.Response, err error) {
		if err != nil {
			c.again(50 * time.Millisecond)
			return
		}
		c.fetched(resp.(*kmsg.FetchResponse), leader)
	})
}

// fetched takes what came, and goes on at once when it was something.
func (c *consumer) fetched(resp *kmsg.FetchResponse, leader int) {
	if c.stopped {
		return
	}
	p := resp.Topics[0].Partitions[0]
	switch code := kerr.Code(p.ErrorCode); code {
	case kerr.None:
	case kerr.OffsetOutOfRange:
		if c.offset < c.ledger.trimmed {
			c.skip(leader)
			return
		}
		if !c.ledger.forgiven {
			c.world.fail("%s: offset %d, which was committed, is out of range at node %d", c.name, c.offset, leader)
			return
		}
		c.offset, c.watermark = 0, 0
		c.again(100 * time.Millisecond)
		return
	default:
		c.expect(code)
		c.again(100 * time.Millisecond)
		return
	}
	if p.HighWatermark < c.watermark && !c.ledger.forgiven && !c.short() {
		c.world.fail("%s: the high watermark goes back from %d to %d at node %d", c.name, c.watermark, p.HighWatermark, leader)
		return
	}
	c.watermark = max(c.watermark, p.HighWatermark)
	if !c.take(p.RecordBatches, p.HighWatermark) {
		return
	}
	c.caughtUp = c.offset >= p.HighWatermark
	if c.caughtUp && c.offset > 0 && c.world.chance(20) {
		c.offset = max(c.world.random.Int64N(c.offset), min(c.ledger.trimmed, c.offset))
	}
	c.world.after(c.world.between(0, 20*time.Millisecond), c.fetch)
}

// short tells that a partition's ISR is smaller than min.insync.replicas. The high watermark stands still then, and a leader that
// has begun a new life knows only what its checkpoint says of it.
func (c *consumer) short() bool {
	p := c.world.traps.isr(c.ids[c.topic], int32(c.partition))
	return c.world.Size.Nodes > 1 && len(p) < minISR
}

// minISR is min.insync.replicas where there are three nodes.
const minISR = 2

// skip goes on where the log begins by now.
func (c *consumer) skip(leader int) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID = 7, -1
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp, p.CurrentLeaderEpoch = int32(c.partition), earliest, -1
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic, t.Partitions = c.topic, append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	c.call(leader, req, func(resp kmsg.Response, err error) {
		if err == nil {
			p := resp.(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0]
			c.expect(kerr.Code(p.ErrorCode))
			if p.ErrorCode == 0 && p.Offset > c.ledger.trimmed && !c.ledger.forgiven {
				c.world.fail("%s: node %d begins at %d, deletion was asked for up to %d", c.name, leader, p.Offset, c.ledger.trimmed)
				return
			}
			if p.ErrorCode == 0 {
				c.offset = max(c.offset, p.Offset)
			}
		}
		c.again(100 * time.Millisecond)
	})
}

// earliest asks ListOffsets for where a log begins.
const earliest = -2

// take notes the records of a reply; the last batch may be cut off.
func (c *consumer) take(b []byte, watermark int64) bool {
	for len(b) > 0 {
		v, rest, err := batch.First(b)
		if err != nil {
			return true
		}
		if err := v.CheckCRC(); err != nil {
			c.world.fail("%s: %w", c.name, err)
			return false
		}
		if int64(v.LastOffset()) >= watermark {
			c.world.fail("%s: offset %d is given out, the high watermark is %d", c.name, v.LastOffset(), watermark)
			return false
		}
		if err := v.Each(func(r batch.Record) error {
			if int64(r.Offset) >= c.offset {
				c.ledger.observe(int64(r.Offset), string(r.Value))
				c.offset = int64(r.Offset) + 1
			}
			return nil
		}); err != nil {
			c.world.fail("%s: %w", c.name, err)
			return false
		}
		b = rest
	}
	return true
}
