package load

import (
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
	"troupe/tests/wire"
)

// letters are n bytes that no codec and no disk gets away with cheaply.
func letters(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('a' + rand.IntN(26))
	}
	return string(b)
}

// batchOf makes a batch of so many records of size bytes each.
func batchOf(records, size int) []byte {
	value := letters(size)
	values := make([]string, records)
	for i := range values {
		values[i] = value
	}
	return wire.Values(time.Now().UnixMilli(), values...).Bytes()
}

// stamped makes a batch of one record that carries a time in its first eight bytes.
func stamped(t time.Time, filler string) []byte {
	value := make([]byte, len(filler))
	copy(value, filler)
	binary.BigEndian.PutUint64(value, uint64(t.UnixNano()))
	return wire.Values(t.UnixMilli(), string(value)).Bytes()
}

// stampIn reads the time back; the value is the last field but the count of headers.
func stampIn(batch []byte, size int) int64 {
	return int64(binary.BigEndian.Uint64(batch[len(batch)-1-size:]))
}

// walk calls each with every whole batch and gives the offset after the last, -1 for none.
func walk(records []byte, each func(batch []byte)) (next int64) {
	next = -1
	for len(records) >= wire.AtRecords {
		end := int(binary.BigEndian.Uint32(records[wire.AtBatchLength:])) + 12
		if end > len(records) {
			break
		}
		b := records[:end]
		next = int64(binary.BigEndian.Uint64(b)) + int64(binary.BigEndian.Uint32(b[wire.AtLastOffsetDelta:])) + 1
		if each != nil {
			each(b)
		}
		records = records[end:]
	}
	return next
}

// target is a partition and the batch for it.
type target struct {
	topic     string
	partition int32
	batch     []byte
}

func produceRequest(acks int16, to ...target) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = produceVersion, acks, 30_000
	for _, t := range to {
		p := kmsg.NewProduceRequestTopicPartition()
		p.Partition, p.Records = t.partition, t.batch
		if last := len(req.Topics) - 1; last < 0 || req.Topics[last].Topic != t.topic {
			topic := kmsg.NewProduceRequestTopic()
			topic.Topic = t.topic
			req.Topics = append(req.Topics, topic)
		}
		topic := &req.Topics[len(req.Topics)-1]
		topic.Partitions = append(topic.Partitions, p)
	}
	return req
}

// produced awaits the reply to a produce: how many partitions took their batch, and one's base offset.
func (c *Client) produced() (taken int, base int64, refused error, err error) {
	err = c.answers(func(_ string, p *kmsg.ProduceResponseTopicPartition) {
		if code := kerr.Code(p.ErrorCode); code != kerr.None {
			refused = code
			return
		}
		taken++
		base = p.BaseOffset
	})
	return taken, base, refused, err
}

// refusedOf awaits the reply to a produce and gives those of its targets that did not take their batch.
func (c *Client) refusedOf(to []target) ([]target, error) {
	type place struct {
		topic     string
		partition int32
	}
	took := map[place]bool{}
	err := c.answers(func(topic string, p *kmsg.ProduceResponseTopicPartition) {
		took[place{strings.Clone(topic), p.Partition}] = kerr.Code(p.ErrorCode) == kerr.None
	})
	var refused []target
	for _, t := range to {
		if !took[place{t.topic, t.partition}] {
			refused = append(refused, t)
		}
	}
	return refused, err
}

// answers awaits the reply to a produce and tells of its partitions, which come in any order.
func (c *Client) answers(each func(topic string, p *kmsg.ProduceResponseTopicPartition)) error {
	var resp kmsg.ProduceResponse
	if err := c.Decode(&resp, produceVersion); err != nil {
		return err
	}
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			each(resp.Topics[i].Topic, &resp.Topics[i].Partitions[j])
		}
	}
	return nil
}
