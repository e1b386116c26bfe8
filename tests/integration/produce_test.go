package integration

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/tests/wire"
)

const (
	nameVersion = 12 // the newest Produce that names topics
	idVersion   = 13 // the first that gives their ids (KIP-516)
)

// produceRequest asks to append records to partition 0.
func produceRequest(version int16, to topic, acks int16, records []byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = acks, 10_000
	p := kmsg.NewProduceRequestTopicPartition()
	p.Records = records
	one := kmsg.NewProduceRequestTopic()
	one.Topic, one.TopicID, one.Partitions = to.name, to.id, append(one.Partitions, p)
	req.Topics = append(req.Topics, one)
	return wire.Versioned(req, version)
}

func produce(c *wire.Conn, req *kmsg.ProduceRequest) kmsg.ProduceResponseTopicPartition {
	return wire.On[*kmsg.ProduceResponse](c, req).Topics[0].Partitions[0]
}

// anyError stands where Kafka answers that it had an unexpected error, and a better answer is as good.
var anyError = kerr.UnknownServerError

// legacyBatch is a message set of format 0 or 1 with one message.
func legacyBatch(magic int8) []byte {
	raw := (&kmsg.MessageV0{MessageSize: 17, Magic: magic, Value: []byte("old")}).AppendTo(nil)
	if magic == 1 {
		raw = (&kmsg.MessageV1{MessageSize: 25, Magic: magic, Timestamp: 1, Value: []byte("old")}).AppendTo(nil)
	}
	return raw
}

func TestProduceJudgesABatchBeforeItIsStored(t *testing.T) {
	address := broker(t)
	conn := wire.Dial(t, address)
	three := func() wire.Batch { return wire.Values(now(), "a", "b", "c") }
	patched := func(at int, b ...byte) []byte {
		raw := three().Bytes()
		copy(raw[at:], b)
		return raw
	}
	negative := three()
	negative.Records[1].Delta = -1
	unordered := three()
	unordered.Records[1].Delta, unordered.Records[2].Delta = 2, 1
	cases := []struct {
		title   string
		records []byte
		want    *kerr.Error
	}{
		{"a sound batch", three().Bytes(), nil},
		{"a wrong CRC", patched(wire.AtCRC, 1, 2, 3, 4), kerr.CorruptMessage},
		{"a flipped bit in a record", patched(wire.AtRecords+5, 0xff), kerr.CorruptMessage},
		{"a format of the future", patched(wire.AtMagic, 3), kerr.CorruptMessage},
		{"format 1", legacyBatch(1), kerr.InvalidRecord},
		{"format 0", legacyBatch(0), kerr.InvalidRecord},
		{"more records counted than there are", wire.With32(three().Bytes(), wire.AtCount, 4), kerr.InvalidRecord},
		{"fewer records counted than there are", wire.With32(three().Bytes(), wire.AtCount, 2), kerr.InvalidRecord},
		{"a negative count", wire.With32(three().Bytes(), wire.AtCount, -1), kerr.InvalidRecord},
		{"a last offset that does not fit the count", wire.With32(three().Bytes(), wire.AtLastOffsetDelta, 5), kerr.InvalidRecord},
		{"a negative last offset", wire.With32(three().Bytes(), wire.AtLastOffsetDelta, -1), kerr.InvalidRecord},
		{"a negative offset of a record", negative.Bytes(), nil},
		{"records out of order", wire.With32(unordered.Bytes(), wire.AtLastOffsetDelta, 2), nil},
		{"two batches", append(three().Bytes(), three().Bytes()...), kerr.InvalidRecord},
		{"a few bytes after the batch, which are cut off", append(three().Bytes(), 1, 2, 3), nil},
		{"half a batch after the batch, which is cut off", append(three().Bytes(), three().Bytes()[:70]...), nil},
		{"a batch cut short", three().Bytes()[:70], kerr.InvalidRecord},
		{"half a batch header", three().Bytes()[:30], kerr.InvalidRecord},
		{"five bytes", []byte{1, 2, 3, 4, 5}, kerr.InvalidRecord},
		{"no bytes", []byte{}, kerr.InvalidRecord},
		{"a batch of no records", wire.With32(wire.Values(now()).Bytes(), wire.AtLastOffsetDelta, -1), kerr.InvalidRecord},
		{"a length below the header's", patched(wire.AtBatchLength, 0, 0, 0, 10), kerr.CorruptMessage},
		{"a negative length", patched(wire.AtBatchLength, 0xff, 0xff, 0xff, 0xff), kerr.CorruptMessage},
		{"a length past the end", patched(wire.AtBatchLength, 0, 0, 0xff, 0xff), kerr.InvalidRecord},
		{"an unknown codec", wire.With16(three().Bytes(), wire.AtAttributes, 6), anyError},
		{"gzip that is none", wire.With16(three().Bytes(), wire.AtAttributes, 1), anyError},
		{"a control batch from a client", wire.With16(three().Bytes(), wire.AtAttributes, 0x20), kerr.InvalidRecord},
	}
	for _, c := range cases {
		t.Run(c.title, func(t *testing.T) {
			to := createTopic(t, address, 1)
			got := produce(conn, produceRequest(nameVersion, to, 1, c.records))
			if c.want == nil {
				expectCode(t, got.ErrorCode, 0)
				if got.BaseOffset != 0 || got.LogAppendTime != -1 {
					t.Errorf("base offset %d, append time %d; want 0 and -1", got.BaseOffset, got.LogAppendTime)
				}
				if end := listOffset(conn, to.name, 0, -1).Offset; end != 3 {
					t.Errorf("the log ends at %d after three records", end)
				}
				return
			}
			if c.want != anyError || got.ErrorCode == 0 {
				expectCode(t, got.ErrorCode, c.want.Code)
			}
			if got.BaseOffset != -1 {
				t.Errorf("base offset %d beside an error, want -1", got.BaseOffset)
			}
			if end := listOffset(conn, to.name, 0, -1).Offset; end != 0 {
				t.Errorf("the log ends at %d: a refused batch was stored", end)
			}
		})
	}
}

func TestProduceNamesTheTopicItDoesNotKnow(t *testing.T) {
	address := broker(t)
	conn := wire.Dial(t, address)
	to := createTopic(t, address, 1)
	batch := wire.Values(now(), "x").Bytes()
	stranger := to
	stranger.id[3] ^= 0xff
	absent := topic{name: freshName()}
	elsewhere := produceRequest(nameVersion, to, 1, batch)
	elsewhere.Topics[0].Partitions[0].Partition = 7
	negative := produceRequest(nameVersion, to, 1, batch)
	negative.Topics[0].Partitions[0].Partition = -1
	cases := []struct {
		title string
		req   *kmsg.ProduceRequest
		want  *kerr.Error
	}{
		{"an unknown name", produceRequest(nameVersion, absent, 1, batch), kerr.UnknownTopicOrPartition},
		{"an unknown id", produceRequest(idVersion, stranger, 1, batch), kerr.UnknownTopicID},
		{"no id", produceRequest(idVersion, absent, 1, batch), kerr.UnknownTopicID},
		{"a partition that is not there", elsewhere, kerr.UnknownTopicOrPartition},
		{"a partition below zero", negative, kerr.UnknownTopicOrPartition},
		{"a name that no topic can have", produceRequest(nameVersion, topic{name: ".."}, 1, batch), kerr.UnknownTopicOrPartition},
		{"a name over 249 characters", produceRequest(nameVersion, topic{name: strings.Repeat("n", 250)}, 1, batch), kerr.UnknownTopicOrPartition},
		{"acks=2", produceRequest(nameVersion, to, 2, batch), kerr.InvalidRequiredAcks},
		{"acks=-2", produceRequest(nameVersion, to, -2, batch), kerr.InvalidRequiredAcks},
	}
	for _, c := range cases {
		t.Run(c.title, func(t *testing.T) {
			got := produce(conn, c.req)
			expectCode(t, got.ErrorCode, c.want.Code)
			if got.BaseOffset != -1 || got.LogAppendTime != -1 || got.LogStartOffset != -1 {
				t.Errorf("offset %d, append time %d, log start %d beside an error; want -1 each", got.BaseOffset, got.LogAppendTime, got.LogStartOffset)
			}
		})
	}
	if end := listOffset(conn, to.name, 0, -1).Offset; end != 0 {
		t.Errorf("the log ends at %d, want 0", end)
	}
}

func TestProduceWithoutAcknowledgementsClosesTheConnectionOnAnError(t *testing.T) {
	address := broker(t)
	to := createTopic(t, address, 1)
	conn := wire.Dial(t, address)

	conn.Write(wire.Frame(1, produceRequest(nameVersion, to, 0, wire.Values(now(), "unanswered").Bytes())))
	if end := listOffset(conn, to.name, 0, -1).Offset; end != 1 {
		t.Errorf("the log ends at %d after one record, want 1", end)
	}
	conn.Write(wire.Frame(2, produceRequest(nameVersion, topic{name: freshName()}, 0, wire.Values(now(), "x").Bytes())))
	conn.ExpectClosed()
}

func TestProduceKeepsTheSizeLimits(t *testing.T) {
	address := broker(t)
	conn := wire.Dial(t, address)
	overhead := len(wire.Values(0, strings.Repeat("v", 1000)).Bytes()) - 1000
	exactly := func(n int) []byte { return wire.Values(now(), strings.Repeat("v", n-overhead)).Bytes() }
	cases := []struct {
		title    string
		settings []string
		bytes    int
		want     int16
	}{
		{"as large as max.message.bytes", []string{"max.message.bytes=2000"}, 2000, 0},
		{"one byte larger", []string{"max.message.bytes=2000"}, 2001, kerr.MessageTooLarge.Code},
		{"larger than a segment", []string{"max.message.bytes=3000000", "segment.bytes=1048576"}, 1048577, kerr.RecordListTooLarge.Code},
		{"as large as a segment", []string{"max.message.bytes=3000000", "segment.bytes=1048576"}, 1048576, 0},
	}
	for _, c := range cases {
		t.Run(c.title, func(t *testing.T) {
			to := createTopic(t, address, 1, c.settings...)
			batch := exactly(c.bytes)
			for len(batch) != c.bytes { // the length of a length
				batch = exactly(c.bytes + c.bytes - len(batch))
			}
			got := produce(conn, produceRequest(nameVersion, to, 1, batch))
			expectCode(t, got.ErrorCode, c.want)
		})
	}
}

func TestProduceChecksTimestamps(t *testing.T) {
	address := broker(t)
	conn := wire.Dial(t, address)
	const hour = 3600_000
	future := wire.Values(now(), "now", "far ahead", "now")
	future.Records[1].TimeDelta = 2 * hour
	cases := []struct {
		title    string
		settings []string
		batch    wire.Batch
		want     int16
		named    []int32
	}{
		{"two hours ahead", nil, future, kerr.InvalidTimestamp.Code, []int32{1}},
		{"half an hour ahead", nil, wire.Values(now()+hour/2, "x"), 0, nil},
		{"before 1970", nil, wire.Values(-5, "x"), 0, nil},
		{"as old as time", nil, wire.Values(0, "x"), 0, nil},
		{"older than the topic takes", []string{"message.timestamp.before.max.ms=1000"}, wire.Values(now()-hour, "x", "y"), kerr.InvalidTimestamp.Code, []int32{0, 1}},
		{"ahead, where the topic takes it", []string{"message.timestamp.after.max.ms=9223372036854775807"}, future, 0, nil},
		{"ahead, where the broker sets the time", []string{"message.timestamp.type=LogAppendTime"}, future, 0, nil},
	}
	for _, c := range cases {
		t.Run(c.title, func(t *testing.T) {
			to := createTopic(t, address, 1, c.settings...)
			got := produce(conn, produceRequest(nameVersion, to, 1, c.batch.Bytes()))
			expectCode(t, got.ErrorCode, c.want)
			var named []int32
			for _, r := range got.ErrorRecords {
				named = append(named, r.RelativeOffset)
			}
			if len(named) != len(c.named) || len(named) > 0 && named[0] != c.named[0] {
				t.Errorf("records %v are named, want %v", named, c.named)
			}
		})
	}
}

func TestProduceTellsTheAppendTimeWhereTheBrokerSetsIt(t *testing.T) {
	address := broker(t)
	conn := wire.Dial(t, address)
	to := createTopic(t, address, 1, "message.timestamp.type=LogAppendTime")
	before := now()
	got := produce(conn, produceRequest(nameVersion, to, 1, wire.Values(5, "a", "b").Bytes()))
	after := now()
	if got.LogAppendTime < before || got.LogAppendTime > after {
		t.Errorf("append time %d, want between %d and %d", got.LogAppendTime, before, after)
	}
	batch := fetchBatch(t, conn, to, 0)
	if batch.Attributes&8 == 0 || batch.MaxTimestamp != got.LogAppendTime {
		t.Errorf("stored with attributes %#x and time %d, want the LogAppendTime bit and %d", batch.Attributes, batch.MaxTimestamp, got.LogAppendTime)
	}
}

func TestCompactedTopicsRefuseRecordsWithoutKeys(t *testing.T) {
	address := broker(t)
	conn := wire.Dial(t, address)
	to := createTopic(t, address, 1, "cleanup.policy=compact")
	batch := wire.Values(now(), "a", "b", "c")
	batch.Records[0].Key, batch.Records[2].Key = []byte("k"), []byte{}
	got := produce(conn, produceRequest(nameVersion, to, 1, batch.Bytes()))
	expectCode(t, got.ErrorCode, kerr.InvalidRecord.Code)
	if len(got.ErrorRecords) != 1 || got.ErrorRecords[0].RelativeOffset != 1 {
		t.Errorf("records named: %+v, want the second alone", got.ErrorRecords)
	}
	batch.Records[1].Key = []byte("k")
	expectCode(t, produce(conn, produceRequest(nameVersion, to, 1, batch.Bytes())).ErrorCode, 0)
}

func TestZstdNeedsAProducerOfItsTime(t *testing.T) {
	address := broker(t)
	conn := wire.Dial(t, address)
	to := createTopic(t, address, 1)
	// A frame of zstd that holds one record: magic, a single-segment header, one raw block.
	one := wire.Values(now(), "compressed")
	plain := one.EncodeRecords()
	one.Attributes = 4
	one.Payload = bytes.Join([][]byte{{0x28, 0xb5, 0x2f, 0xfd, 0x20, byte(len(plain))}, {byte(len(plain)<<3 | 1), 0, 0}, plain}, nil)
	expectCode(t, produce(conn, produceRequest(6, to, 1, one.Bytes())).ErrorCode, kerr.UnsupportedCompressionType.Code)
	expectCode(t, produce(conn, produceRequest(7, to, 1, one.Bytes())).ErrorCode, 0)
}

func TestProducedBytesAreStoredAsTheyCame(t *testing.T) {
	address := broker(t)
	conn := wire.Dial(t, address)
	to := createTopic(t, address, 1)
	batch := wire.Values(now(), "first", "second")
	batch.Records[0].Headers = []kmsg.Header{{Key: "h", Value: nil}, {Key: "", Value: []byte{}}}
	sent := batch.Bytes()
	produce(conn, produceRequest(nameVersion, to, 1, wire.Values(now(), "before").Bytes()))
	produce(conn, produceRequest(idVersion, to, -1, sent))
	stored := fetchBytes(t, conn, to, 1)
	// The leader sets the base offset and its epoch; the CRC does not cover them.
	if offset := int64(binary.BigEndian.Uint64(stored)); offset != 1 {
		t.Errorf("base offset %d, want 1", offset)
	}
	if epoch := int32(binary.BigEndian.Uint32(stored[12:])); epoch != 0 {
		t.Errorf("leader epoch %d, want 0", epoch)
	}
	if !bytes.Equal(stored[wire.AtMagic:], sent[wire.AtMagic:]) {
		t.Error("the stored batch differs from the one that was sent")
	}
}
