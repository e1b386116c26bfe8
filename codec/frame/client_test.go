package frame_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/batch"
	"troupe/codec/compress"
	"troupe/codec/frame"
)

// broker is as much of one as franz-go's producer needs, over a pipe. It keeps the batches it is sent.
type broker struct {
	batches chan []byte
	faults  chan error
}

const topic = "t"

func (b *broker) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	go b.serve(server)
	return client, nil
}

func (b *broker) serve(c net.Conn) {
	defer c.Close()
	for {
		var size [frame.SizeLen]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		n, err := frame.Size(size[:], 10<<20)
		if err != nil {
			b.faults <- err
			return
		}
		body, err := frame.ReadBody(c, nil, n)
		if err != nil {
			return
		}
		h, body, err := frame.ParseRequestHeader(body)
		if err != nil {
			b.faults <- err
			return
		}
		request := kmsg.RequestForKey(h.Key)
		request.SetVersion(h.Version)
		if err := request.ReadFrom(body); err != nil {
			b.faults <- fmt.Errorf("request %d version %d of %s: %w", h.Key, h.Version, h.ClientID, err)
			return
		}
		out := frame.AppendResponseHeader(frame.Begin(nil), h.Key, h.Version, h.CorrelationID, nil)
		out = b.answer(request).AppendTo(out)
		frame.End(out, 0, 0)
		if _, err := c.Write(out); err != nil {
			return
		}
	}
}

func (b *broker) answer(request kmsg.Request) kmsg.Response {
	response := request.ResponseKind()
	response.SetVersion(request.GetVersion())
	switch r := response.(type) {
	case *kmsg.ApiVersionsResponse:
		for _, key := range []int16{0, 3, 18} {
			r.ApiKeys = append(r.ApiKeys, kmsg.ApiVersionsResponseApiKey{ApiKey: key, MaxVersion: min(kmsg.RequestForKey(key).MaxVersion(), 12)})
		}
	case *kmsg.MetadataResponse:
		r.Brokers = []kmsg.MetadataResponseBroker{{NodeID: 1, Host: "pipe", Port: 1}}
		name := topic
		partition := kmsg.MetadataResponseTopicPartition{Leader: 1, LeaderEpoch: 0, Replicas: []int32{1}, ISR: []int32{1}}
		r.Topics = []kmsg.MetadataResponseTopic{{Topic: &name, Partitions: []kmsg.MetadataResponseTopicPartition{partition}}}
	case *kmsg.ProduceResponse:
		b.batches <- request.(*kmsg.ProduceRequest).Topics[0].Partitions[0].Records
		r.Topics = []kmsg.ProduceResponseTopic{{Topic: topic, Partitions: []kmsg.ProduceResponseTopicPartition{{}}}}
	}
	return response
}

func TestBatchesOfARealClientAreRead(t *testing.T) {
	for name, c := range map[string]struct {
		client kgo.CompressionCodec
		want   compress.Codec
	}{
		"none": {kgo.NoCompression(), compress.None}, "gzip": {kgo.GzipCompression(), compress.Gzip},
		"snappy": {kgo.SnappyCompression(), compress.Snappy}, "lz4": {kgo.Lz4Compression(), compress.LZ4}, "zstd": {kgo.ZstdCompression(), compress.Zstd},
	} {
		t.Run(name, func(t *testing.T) {
			b := &broker{batches: make(chan []byte, 1), faults: make(chan error, 10)}
			client, err := kgo.NewClient(kgo.SeedBrokers("pipe:1"), kgo.Dialer(b.dial), kgo.DisableIdempotentWrite(), kgo.DefaultProduceTopic(topic),
				kgo.ProducerBatchCompression(c.client), kgo.ProducerLinger(time.Millisecond), kgo.RequestRetries(0), kgo.RequiredAcks(kgo.LeaderAck()))
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			value := strings.Repeat("value ", 500)
			sent := &kgo.Record{
				Key: []byte("key"), Value: []byte(value), Timestamp: time.UnixMilli(1_700_000_000_123), Headers: []kgo.RecordHeader{{Key: "h", Value: []byte{0}}},
			}
			if err := client.ProduceSync(ctx, sent).FirstErr(); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-b.faults:
				t.Fatal(err)
			case records := <-b.batches:
				check(t, records, c.want, value)
			}
		})
	}
}

func check(t *testing.T, records []byte, codec compress.Codec, value string) {
	t.Helper()
	v, err := batch.Produced(records)
	if err != nil {
		t.Fatal(err)
	}
	rules := batch.Rules{ProduceVersion: 12, NowMs: 1_700_000_000_123, AfterMaxMs: 1, BeforeMaxMs: 1}
	if f, err := batch.Validate(v, rules); err != nil || f.Count != 1 || v.Codec() != codec {
		t.Fatalf("%+v, %v, codec %v", f, err, v.Codec())
	}
	if err := v.Each(func(r batch.Record) error {
		if string(r.Key) != "key" || string(r.Value) != value || r.Timestamp != 1_700_000_000_123 ||
			len(r.Headers) != 1 || r.Headers[0].Key != "h" || string(r.Headers[0].Value) != "\x00" {
			t.Errorf("%+v", r)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
