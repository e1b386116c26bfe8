package broker

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/batch"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// client is one connection. Its calls return errors: that a broker goes away is what the tests are about.
type client struct {
	conn        net.Conn
	correlation int32
}

func dial(t testing.TB, address string) *client {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &client{conn: conn}
}

func (c *client) send(req kmsg.Request) error {
	c.correlation++
	_, err := c.conn.Write(kmsg.NewRequestFormatter(kmsg.FormatterClientID("test")).AppendRequest(nil, req, c.correlation))
	return err
}

// receive reads the reply to a request; replies come in the order of the requests.
func (c *client) receive(req kmsg.Request) (kmsg.Response, error) {
	if err := c.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	var size [4]byte
	if _, err := io.ReadFull(c.conn, size[:]); err != nil {
		return nil, err
	}
	body := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(c.conn, body); err != nil {
		return nil, err
	}
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	body = body[4:]
	if resp.IsFlexible() && req.Key() != 18 {
		body = body[1:]
	}
	return resp, resp.ReadFrom(body)
}

func (c *client) call(req kmsg.Request) (kmsg.Response, error) {
	if err := c.send(req); err != nil {
		return nil, err
	}
	return c.receive(req)
}

func createTopic(c *client, name string, settings map[string]string) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis = 7, 10_000
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, 1, 1
	for key, value := range settings {
		topic.Configs = append(topic.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: key, Value: &value})
	}
	req.Topics = append(req.Topics, topic)
	resp, err := c.call(req)
	if err != nil {
		return err
	}
	return coded(resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode)
}

func deleteTopic(c *client, name string) error {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version, req.TimeoutMillis = 6, 10_000
	topic := kmsg.NewDeleteTopicsRequestTopic()
	topic.Topic = &name
	req.Topics = append(req.Topics, topic)
	resp, err := c.call(req)
	if err != nil {
		return err
	}
	return coded(resp.(*kmsg.DeleteTopicsResponse).Topics[0].ErrorCode)
}

func coded(code int16) error {
	if code == 0 {
		return nil
	}
	return kerr.Code(code)
}

func producerID(c *client) (model.ProducerID, error) {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version, req.ProducerID, req.ProducerEpoch = 4, -1, -1
	resp, err := c.call(req)
	if err != nil {
		return 0, err
	}
	got := resp.(*kmsg.InitProducerIDResponse)
	return model.ProducerID(got.ProducerID), coded(got.ErrorCode)
}

// produceRequest carries one batch to partition 0 of a topic.
func produceRequest(topic string, acks int16, records []byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = 12, acks, 30_000
	p := kmsg.NewProduceRequestTopicPartition()
	p.Records = records
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.Partitions = topic, append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}

// records makes a batch; p is nil without idempotence.
func records(p *batch.Producer, at time.Time, values ...string) []byte {
	b := batch.NewBuilder(batch.Options{Producer: p})
	for _, v := range values {
		b.Add(batch.Record{Timestamp: at.UnixMilli(), Value: []byte(v)})
	}
	v, err := b.Build()
	if err != nil {
		panic(err)
	}
	return v
}

// fetchAll reads partition 0 from an offset to the high watermark.
func fetchAll(c *client, topic string, from int64) (values []string, err error) {
	for {
		got, watermark, err := fetchOnce(c, topic, from, 0)
		if err != nil {
			return values, err
		}
		for _, v := range got {
			if v.offset != from {
				return values, fmt.Errorf("offset %d comes after %d", v.offset, from-1)
			}
			values = append(values, v.value)
			from++
		}
		if from >= watermark {
			return values, nil
		}
	}
}

type fetched struct {
	offset int64
	value  string
}

func fetchOnce(c *client, topic string, from int64, wait time.Duration) (values []fetched, watermark int64, err error) {
	resp, err := c.call(fetchRequest(topic, from, wait))
	if err != nil {
		return nil, 0, err
	}
	p := resp.(*kmsg.FetchResponse).Topics[0].Partitions[0]
	if err := coded(p.ErrorCode); err != nil {
		return nil, 0, err
	}
	for rest := p.RecordBatches; len(rest) > 0; {
		var v batch.View
		if v, rest, err = batch.First(rest); err != nil {
			return values, 0, err
		}
		if err := v.CheckCRC(); err != nil {
			return values, 0, err
		}
		if err := v.Each(func(r batch.Record) error {
			if int64(r.Offset) >= from {
				values = append(values, fetched{int64(r.Offset), string(r.Value)})
			}
			return nil
		}); err != nil {
			return values, 0, err
		}
	}
	return values, p.HighWatermark, nil
}

func fetchRequest(topic string, from int64, wait time.Duration) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = 11, int32(wait.Milliseconds()), 1, 50<<20, -1
	p := kmsg.NewFetchRequestTopicPartition()
	p.FetchOffset, p.PartitionMaxBytes, p.CurrentLeaderEpoch = from, 50<<20, -1
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.Partitions = topic, append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}
