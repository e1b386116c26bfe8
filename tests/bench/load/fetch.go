package load

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
)

// Fetch is the load of consumers that read partitions from the start to the end, over and over, without sessions.
type Fetch struct {
	Connections  int
	PartitionMax int32 // bytes of a fetch
}

func fetchRequest(topic string, partition int32, offset int64, most int32, wait time.Duration) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxWaitMillis, req.MinBytes, req.MaxBytes = fetchVersion, int32(wait/time.Millisecond), 1, 64<<20
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = partition, offset, most
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.Partitions = topic, []kmsg.FetchRequestTopicPartition{p}
	req.Topics = []kmsg.FetchRequestTopic{t}
	return req
}

// fetched awaits the reply to a fetch of one partition.
func (c *Client) fetched() (records []byte, highWatermark int64, err error) {
	var resp kmsg.FetchResponse
	if err := c.Decode(&resp, fetchVersion); err != nil {
		return nil, 0, err
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return nil, 0, fmt.Errorf("fetch: %w", kerr.Code(resp.ErrorCode))
	}
	p := &resp.Topics[0].Partitions[0]
	if code := kerr.Code(p.ErrorCode); code != kerr.None {
		return nil, 0, fmt.Errorf("fetch: %w", code)
	}
	return p.RecordBatches, p.HighWatermark, nil
}

// Run fetches from a topic for a while.
func (f Fetch) Run(address, topic string, partitions int, d time.Duration) (Done, error) {
	until := time.Now().Add(d)
	return together(f.Connections, func(i int) (Done, error) {
		c, err := Dial(address)
		if err != nil {
			return Done{}, err
		}
		defer c.Close()
		var done Done
		for offset := int64(0); time.Now().Before(until); {
			if err := c.Send(fetchRequest(topic, int32(i%partitions), offset, f.PartitionMax, 500*time.Millisecond)); err != nil {
				return done, err
			}
			records, end, err := c.fetched()
			if err != nil {
				return done, err
			}
			if next := walk(records, nil); next > 0 {
				offset = next
			}
			if offset >= end {
				offset = 0
			}
			done.Bytes += int64(len(records))
			done.Requests++
		}
		return done, nil
	})
}
