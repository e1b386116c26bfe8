package connection

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/cmd/troupe/client/kafkatext"
)

// metadataInterval is how often a topic that is not known yet is asked for.
const metadataInterval = 250 * time.Millisecond

// Defaults of the Java producer: buffer.memory and max.in.flight.requests.per.connection.
const (
	bufferMemory = 32 << 20
	inFlight     = 5
)

// ProducerOptions maps the producer properties that have a counterpart; others are the Java client's own affair.
func ProducerOptions(props kafkatext.Properties) ([]kgo.Opt, error) {
	opts := []kgo.Opt{
		// Records without a key stay on one partition for 64 KiB and then move, faster brokers getting more of them
		// (KIP-794); keys are hashed as the Java client hashes them, so both write a key to the same partition.
		kgo.AllowAutoTopicCreation(), kgo.MetadataMinAge(metadataInterval),
		kgo.RecordPartitioner(kgo.UniformBytesPartitioner(64<<10, true, true, nil)),
	}
	codec, err := codecOf(props)
	if err != nil {
		return nil, err
	}
	acks, err := acksOf(props)
	if err != nil {
		return nil, err
	}
	// The Java client bounds bytes that wait, never records.
	opts = append(opts, kgo.ProducerBatchCompression(codec), kgo.RequiredAcks(acks),
		kgo.MaxBufferedBytes(bufferMemory), kgo.MaxBufferedRecords(math.MaxInt32))
	// The Java client drops idempotence quietly when acks forbid it and it was not asked for.
	if acks != kgo.AllISRAcks() || strings.EqualFold(props["enable.idempotence"], "false") {
		opts = append(opts, kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(inFlight))
	}
	blockFor, err := Milliseconds(props, "max.block.ms", time.Minute)
	if err != nil {
		return nil, err
	}
	// The Java client waits max.block.ms for a topic that is not there; kgo counts how often it asks.
	opts = append(opts, kgo.UnknownTopicRetries(int(blockFor/metadataInterval)))
	if opts, err = durations(opts, props); err != nil {
		return nil, err
	}
	return sizes(opts, props)
}

// durations maps the properties in milliseconds. Where kgo refuses a value below a least one, the least one is taken.
func durations(opts []kgo.Opt, props kafkatext.Properties) ([]kgo.Opt, error) {
	for _, d := range []struct {
		key string
		def time.Duration
		opt func(time.Duration) kgo.Opt
	}{
		{"linger.ms", 5 * time.Millisecond, func(d time.Duration) kgo.Opt { return kgo.ProducerLinger(d) }},
		{"request.timeout.ms", 30 * time.Second, func(d time.Duration) kgo.Opt { return kgo.ProduceRequestTimeout(max(d, 100*time.Millisecond)) }},
		{"delivery.timeout.ms", 2 * time.Minute, func(d time.Duration) kgo.Opt { return kgo.RecordDeliveryTimeout(d) }},
		{"metadata.max.age.ms", 5 * time.Minute, func(d time.Duration) kgo.Opt { return kgo.MetadataMaxAge(max(d, metadataInterval)) }},
	} {
		v, err := Milliseconds(props, d.key, d.def)
		if err != nil {
			return nil, err
		}
		opts = append(opts, d.opt(v))
	}
	return opts, nil
}

// sizes maps the properties that are whole numbers. One that is absent is left to kgo, whose defaults are the Java
// client's or larger.
func sizes(opts []kgo.Opt, props kafkatext.Properties) ([]kgo.Opt, error) {
	for _, n := range []struct {
		key string
		opt func(int) kgo.Opt
	}{
		// batch.size is what the Java client fills a batch to; a single larger record still goes, up to max.request.size.
		{"max.request.size", func(n int) kgo.Opt { return kgo.ProducerBatchMaxBytes(int32(n)) }},
		{"buffer.memory", func(n int) kgo.Opt { return kgo.MaxBufferedBytes(n) }},
		{"retries", func(n int) kgo.Opt { return kgo.RecordRetries(n) }},
	} {
		s, ok := props[n.key]
		if !ok {
			continue
		}
		v, err := strconv.ParseInt(strings.TrimSpace(s), 10, 32)
		if err != nil || v < 0 {
			return nil, fmt.Errorf("Invalid value %s for configuration %s: Not a number of type INT", s, n.key)
		}
		opts = append(opts, n.opt(int(v)))
	}
	return opts, nil
}

// codecOf takes the names of compression.type. Levels (KIP-390) are left to the codecs.
func codecOf(props kafkatext.Properties) (kgo.CompressionCodec, error) {
	switch name := props["compression.type"]; name {
	case "", "none":
		return kgo.NoCompression(), nil
	case "gzip":
		return kgo.GzipCompression(), nil
	case "snappy":
		return kgo.SnappyCompression(), nil
	case "lz4":
		return kgo.Lz4Compression(), nil
	case "zstd":
		return kgo.ZstdCompression(), nil
	default:
		return kgo.CompressionCodec{}, fmt.Errorf("Unknown compression name: %s", name)
	}
}

// acksOf takes all and its number. Without a value it is all (KIP-679).
func acksOf(props kafkatext.Properties) (kgo.Acks, error) {
	switch acks := strings.TrimSpace(props["acks"]); acks {
	case "", "all", "-1":
		return kgo.AllISRAcks(), nil
	case "0":
		return kgo.NoAck(), nil
	case "1":
		return kgo.LeaderAck(), nil
	default:
		return kgo.Acks{}, fmt.Errorf("Invalid value %s for configuration acks: String must be one of: all, -1, 0, 1", acks)
	}
}
