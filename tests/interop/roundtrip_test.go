//go:build interop

package interop

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/tests/kafka"
)

// key and value of record i, with nulls and empty ones among them.
func key(i int) []byte {
	if i%10 == 0 {
		return nil
	}
	return fmt.Appendf(nil, "key-%d", i)
}

func value(i int) []byte {
	if i%17 == 0 {
		return nil
	}
	return fmt.Appendf(nil, "value %d %s", i, strings.Repeat("abcdefghij", i%20))
}

// same tells null from empty, which bytes.Equal does not.
func same(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }

func TestFranzGoReadsWhatItWrote(t *testing.T) {
	address := broker(t)
	compressions := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	for _, codec := range codecs {
		t.Run(codec, func(t *testing.T) {
			topic := createTopic(t, address, "franz", 1)
			writer := client(t, address, kgo.ProducerBatchCompression(compressions[codec]), kgo.DefaultProduceTopic(topic), kgo.MaxBufferedRecords(records))
			for i := range records {
				writer.Produce(t.Context(), &kgo.Record{Key: key(i), Value: value(i), Headers: []kgo.RecordHeader{{Key: "n", Value: fmt.Append(nil, i)}}},
					func(r *kgo.Record, err error) {
						if err != nil || r.Offset != int64(i) {
							t.Errorf("record %d: offset %d, %v", i, r.Offset, err)
						}
					})
			}
			if err := writer.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			reader := client(t, address, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for i := 0; i < records; {
				fetches := reader.PollFetches(ctx)
				if err := fetches.Err(); err != nil {
					t.Fatalf("after %d records: %v", i, err)
				}
				fetches.EachRecord(func(r *kgo.Record) {
					if !same(r.Key, key(i)) || !same(r.Value, value(i)) || string(r.Headers[0].Value) != fmt.Sprint(i) || r.Offset != int64(i) {
						t.Fatalf("record %d came back as %q: %q at offset %d", i, r.Key, r.Value, r.Offset)
					}
					i++
				})
			}
		})
	}
}

func TestSaramaReadsWhatItWrote(t *testing.T) {
	address := broker(t)
	compressions := map[string]sarama.CompressionCodec{
		"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy,
		"lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD,
	}
	for _, codec := range codecs {
		t.Run(codec, func(t *testing.T) {
			topic := createTopic(t, address, "sarama", 1)
			config := sarama.NewConfig()
			config.Version = sarama.MaxVersion
			config.Producer.Idempotent, config.Producer.RequiredAcks, config.Net.MaxOpenRequests = true, sarama.WaitForAll, 1
			config.Producer.Compression = compressions[codec]
			config.Producer.Return.Successes, config.Producer.Return.Errors = true, true
			config.Consumer.Return.Errors = true
			saramaWrites(t, address, topic, config)
			saramaReads(t, address, topic, config)
		})
	}
}

func saramaWrites(t *testing.T, address, topic string, config *sarama.Config) {
	t.Helper()
	producer, err := sarama.NewAsyncProducer([]string{address}, config)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for i := range records {
			message := &sarama.ProducerMessage{Topic: topic, Headers: []sarama.RecordHeader{{Key: []byte("n"), Value: fmt.Append(nil, i)}}}
			if k := key(i); k != nil {
				message.Key = sarama.ByteEncoder(k)
			}
			if v := value(i); v != nil {
				message.Value = sarama.ByteEncoder(v)
			}
			producer.Input() <- message
		}
		producer.AsyncClose()
	}()
	written := 0
	for successes, errors := producer.Successes(), producer.Errors(); successes != nil || errors != nil; {
		select {
		case m, open := <-successes:
			if !open {
				successes = nil
			} else if written++; m.Offset < 0 {
				t.Errorf("offset %d", m.Offset)
			}
		case e, open := <-errors:
			if !open {
				errors = nil
			} else {
				t.Error(e)
			}
		}
	}
	if written != records {
		t.Fatalf("%d of %d records are acknowledged", written, records)
	}
}

func saramaReads(t *testing.T, address, topic string, config *sarama.Config) {
	t.Helper()
	consumer, err := sarama.NewConsumer([]string{address}, config)
	if err != nil {
		t.Fatal(err)
	}
	defer consumer.Close()
	partition, err := consumer.ConsumePartition(topic, 0, sarama.OffsetOldest)
	if err != nil {
		t.Fatal(err)
	}
	defer partition.Close()
	timeout := time.After(time.Minute)
	for i := range records {
		select {
		case m := <-partition.Messages():
			if !bytes.Equal(m.Key, key(i)) || !bytes.Equal(m.Value, value(i)) || string(m.Headers[0].Value) != fmt.Sprint(i) || m.Offset != int64(i) {
				t.Fatalf("record %d came back as %q: %q at offset %d", i, m.Key, m.Value, m.Offset)
			}
		case err := <-partition.Errors():
			t.Fatal(err)
		case <-timeout:
			t.Fatalf("%d records came in a minute", i)
		}
	}
}

func TestTheJavaClientReadsWhatItWrote(t *testing.T) {
	address := broker(t)
	jars, err := kafka.Jars()
	if err != nil {
		t.Fatal(err)
	}
	compiled := t.TempDir()
	succeeds(t, "javac", "", "-d", compiled, "-cp", filepath.Join(jars, "*"), filepath.Join("java", "RoundTrip.java"))
	for _, codec := range codecs {
		t.Run(codec, func(t *testing.T) {
			topic := createTopic(t, address, "java", 1)
			got := kafka.Java(t, compiled, "", "RoundTrip", address, topic, codec, fmt.Sprint(records))
			if want := fmt.Sprintf("compared %d\n", records); got.Code != 0 || got.Stdout != want {
				t.Error(got)
			}
		})
	}
}

func TestKcatReadsWhatItWrote(t *testing.T) {
	address := broker(t)
	file := filepath.Join(t.TempDir(), "lines")
	var lines bytes.Buffer
	for i := range records {
		fmt.Fprintf(&lines, "key-%d:value %d %s\n", i, i, strings.Repeat("abcdefghij", i%20))
	}
	if err := os.WriteFile(file, lines.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, codec := range codecs {
		t.Run(codec, func(t *testing.T) {
			topic := createTopic(t, address, "kcat", 1)
			succeeds(t, "kcat", "", "-b", address, "-P", "-t", topic, "-p", "0", "-z", codec, "-K:", "-X", "enable.idempotence=true", "-l", file)
			back := succeeds(t, "kcat", "", "-b", address, "-C", "-t", topic, "-p", "0", "-o", "beginning", "-e", "-q", "-K:")
			if back != lines.String() {
				t.Errorf("%d bytes came back, of %d; they differ", len(back), lines.Len())
			}
			end := succeeds(t, "kcat", "", "-b", address, "-Q", "-t", topic+":0:-1")
			if want := fmt.Sprintf("%s [0] offset %d\n", topic, records); end != want {
				t.Errorf("kcat -Q prints %q, want %q", end, want)
			}
		})
	}
}

func TestKcatListsTheTopic(t *testing.T) {
	address := broker(t)
	topic := createTopic(t, address, "kcat", 3)
	list := succeeds(t, "kcat", "", "-b", address, "-L", "-t", topic)
	for _, want := range []string{fmt.Sprintf("topic %q with 3 partitions", topic), "partition 2, leader 1, replicas: 1, isrs: 1", "broker 1 at " + address} {
		if !strings.Contains(list, want) {
			t.Errorf("kcat -L does not print %q:\n%s", want, list)
		}
	}
}
