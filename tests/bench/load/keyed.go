package load

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
	"troupe/tests/wire"
)

// FillKeyed writes so many bytes of records of 1 KiB, whose keys come in turns, to each partition of a topic.
func FillKeyed(address, topic string, partitions, keys, bytes int) error {
	const recordBytes, batchRecords = 1024, 64
	filler := []byte(letters(recordBytes))
	_, err := together(partitions, func(p int) (Done, error) {
		c, err := Dial(address)
		if err != nil {
			return Done{}, err
		}
		defer c.Close()
		for at := 0; at < bytes/recordBytes; {
			b := wire.Values(time.Now().UnixMilli())
			for i := range batchRecords {
				b.Records = append(b.Records, wire.Record{Key: fmt.Appendf(nil, "key-%08d", at%keys), Value: filler, Delta: int32(i)})
				at++
			}
			if err := c.Send(produceRequest(1, target{topic, int32(p), b.Bytes()})); err != nil {
				return Done{}, err
			}
			if _, _, refused, err := c.produced(); err != nil || refused != nil {
				return Done{}, errors.Join(err, refused)
			}
		}
		return Done{}, nil
	})
	return err
}

// SetTopic sets configurations of a topic, key and value in turns.
func SetTopic(address, topic string, settings ...string) error {
	c, err := Dial(address)
	if err != nil {
		return err
	}
	defer c.Close()
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, topic
	for i := 0; i+1 < len(settings); i += 2 {
		each := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		each.Name, each.Value = settings[i], &settings[i+1]
		r.Configs = append(r.Configs, each)
	}
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Resources = append(req.Resources, r)
	var resp kmsg.IncrementalAlterConfigsResponse
	if err := c.Do(req, &resp); err != nil {
		return err
	}
	for _, r := range resp.Resources {
		if code := kerr.Code(r.ErrorCode); code != kerr.None {
			return fmt.Errorf("configuration of %s: %w", topic, code)
		}
	}
	return nil
}
