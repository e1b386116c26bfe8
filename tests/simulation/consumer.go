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
	// watermark is the highest that it was told.
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
	if p.HighWatermark < c.watermark {
		c.doubt(leader)
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

// doubt asks a leader that has told of a lower high watermark than its predecessor how far the log is. One that does not know yet
// what was committed before its epoch serves what it knows to be, and has to say so here (KIP-207).
func (c *consumer) doubt(leader int) {
	id, seen := c.ids[c.topic], c.watermark
	c.list(leader, latest, func(offset int64, err error) {
		if err == nil && offset < seen && !c.ledger.forgiven && !c.stopped && id == c.ids[c.topic] {
			c.world.fail("%s: the high watermark goes back from %d to %d at node %d", c.name, seen, offset, leader)
		}
	})
}

// skip goes on where the log begins by now.
func (c *consumer) skip(leader int) {
	c.list(leader, earliest, func(offset int64, err error) {
		if err == nil && offset > c.ledger.trimmed && !c.ledger.forgiven {
			c.world.fail("%s: node %d begins at %d, deletion was asked for up to %d", c.name, leader, offset, c.ledger.trimmed)
			return
		}
		c.offset = max(c.offset, offset)
		c.again(100 * time.Millisecond)
	})
}

// Times of ListOffsets that are none: where a log begins, and up to where it is committed.
const (
	latest   = -1
	earliest = -2
)

// list asks a leader for an offset by ListOffsets; that of an error is -1.
func (c *consumer) list(leader int, time int64, then func(offset int64, err error)) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID = 7, -1
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp, p.CurrentLeaderEpoch = int32(c.partition), time, c.epochs[c.topic][c.partition]
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic, t.Partitions = c.topic, append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	c.call(leader, req, func(resp kmsg.Response, err error) {
		offset := int64(-1)
		if err == nil {
			p := resp.(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0]
			code := kerr.Code(p.ErrorCode)
			if c.expect(code); code == kerr.None {
				offset = p.Offset
			} else {
				err = code
			}
		}
		then(offset, err)
	})
}

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
