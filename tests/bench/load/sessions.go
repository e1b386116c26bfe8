package load

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
)

// Sessions are consumers with an incremental fetch session (KIP-227) each, over all the partitions of a topic, that
// wait for what comes. They run until they are stopped.
type Sessions struct {
	workers
	answered atomic.Int64 // fetches that brought records
	idle     atomic.Int64 // fetches that ended with their wait
}

// sessionWait is how long a fetch waits, the default of Kafka's consumer.
const sessionWait = 500 * time.Millisecond

// OpenSessions starts the consumers at the ends of the partitions, which must be empty.
func OpenSessions(address, topic string, sessions, partitions int) (*Sessions, error) {
	s := &Sessions{}
	for range sessions {
		c, err := s.dial(address)
		if err != nil {
			return nil, err
		}
		s.run(func() error { return s.consume(c, topic, partitions) })
	}
	return s, nil
}

// Answered counts the fetches that brought records and those that waited in vain.
func (s *Sessions) Answered() (with, without int64) { return s.answered.Load(), s.idle.Load() }

// consume fetches until the connection is closed or fails; its error is never nil.
func (s *Sessions) consume(c *Client, topic string, partitions int) error {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxWaitMillis, req.MinBytes, req.MaxBytes = fetchVersion, 0, 1, 50<<20
	var all []kmsg.FetchRequestTopicPartition
	for i := range partitions {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.PartitionMaxBytes = int32(i), 1<<20
		all = append(all, p)
	}
	req.Topics = []kmsg.FetchRequestTopic{{Topic: topic, Partitions: all}}
	// The reply to the first fetch of a session names every partition.
	for epoch := int32(0); ; epoch++ {
		req.SessionEpoch = epoch
		var resp kmsg.FetchResponse
		if err := c.Do(req, &resp); err != nil {
			return err
		}
		if code := kerr.Code(resp.ErrorCode); code != kerr.None {
			return fmt.Errorf("fetch session: %w", code)
		}
		moved := req.Topics[:0]
		for _, t := range resp.Topics {
			ps, err := advance(t.Partitions)
			if err != nil {
				return err
			}
			if len(ps) > 0 {
				moved = append(moved, kmsg.FetchRequestTopic{Topic: topic, Partitions: ps})
			}
		}
		if epoch > 0 {
			s.count(len(moved) > 0)
		}
		req.SessionID, req.Topics, req.MaxWaitMillis = resp.SessionID, moved, int32(sessionWait/time.Millisecond)
	}
}

func (s *Sessions) count(records bool) {
	if records {
		s.answered.Add(1)
	} else {
		s.idle.Add(1)
	}
}

// advance gives what the next fetch says of the partitions that brought records.
func advance(answers []kmsg.FetchResponseTopicPartition) ([]kmsg.FetchRequestTopicPartition, error) {
	var moved []kmsg.FetchRequestTopicPartition
	for i := range answers {
		a := &answers[i]
		// A leader of a new topic may still be about to begin; the session asks it again.
		if code := kerr.Code(a.ErrorCode); code != kerr.None && !code.Retriable() {
			return nil, fmt.Errorf("fetch session, partition %d: %w", a.Partition, code)
		}
		if next := walk(a.RecordBatches, nil); next >= 0 {
			p := kmsg.NewFetchRequestTopicPartition()
			p.Partition, p.FetchOffset, p.PartitionMaxBytes = a.Partition, next, 1<<20
			moved = append(moved, p)
		}
	}
	return moved, nil
}

// Trickle produces single records of 100 bytes to random partitions of a topic at a steady rate until stop is closed.
func Trickle(address, topic string, partitions int, perSecond float64, stop <-chan struct{}) error {
	c, err := Dial(address)
	if err != nil {
		return err
	}
	defer c.Close()
	batch := batchOf(1, 100)
	tick := time.NewTicker(time.Duration(float64(time.Second) / perSecond))
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return nil
		case <-tick.C:
		}
		if err := c.Send(produceRequest(1, target{topic, int32(rand.IntN(partitions)), batch})); err != nil {
			return err
		}
		if _, _, refused, err := c.produced(); err != nil || refused != nil {
			return errors.Join(err, refused)
		}
	}
}

// Connections opens idle connections: each has asked for the versions, as clients do, and then nothing more. They end
// with close.
func Connections(address string, n int) (close func(), err error) {
	var open []*Client
	close = func() {
		for _, c := range open {
			_ = c.Close() // nothing was written that matters
		}
	}
	for range n {
		c, err := Dial(address)
		if err != nil {
			close()
			return nil, fmt.Errorf("connection %d: %w", len(open)+1, err)
		}
		open = append(open, c)
		req := kmsg.NewPtrApiVersionsRequest()
		req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = 3, "bench", "1"
		if err := c.Do(req, kmsg.NewPtrApiVersionsResponse()); err != nil {
			close()
			return nil, fmt.Errorf("connection %d: %w", len(open), err)
		}
		c.in, c.out, c.reply = nil, nil, nil
	}
	return close, nil
}
