package integration

import (
	"bytes"
	"compress/gzip"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/tests/wire"
)

// timed makes a topic with one batch a list of timestamps, in milliseconds.
func timed(t *testing.T, address string, batches ...[]int64) topic {
	t.Helper()
	conn, to := wire.Dial(t, address), createTopic(t, address, 1, "retention.ms=-1")
	for _, times := range batches {
		batch := wire.Values(times[0])
		for i, at := range times {
			batch.Records = append(batch.Records, wire.Record{Value: []byte("v"), Delta: int32(i), TimeDelta: at - times[0]})
		}
		expectCode(t, produce(conn, produceRequest(nameVersion, to, -1, batch.Bytes())).ErrorCode, 0)
	}
	return to
}

func TestListOffsetsFindsTheRecordOfATime(t *testing.T) {
	address := broker(t)
	conn := wire.Dial(t, address)
	to := timed(t, address, []int64{1000, 3000, 2000}, []int64{2500}, []int64{5000, 4000})
	cases := []struct {
		title        string
		time         int64
		offset, when int64
		epoch        int32
	}{
		{"the latest", -1, 6, -1, 0},
		{"the earliest", -2, 0, -1, 0},
		{"the largest timestamp", -3, 4, 5000, 0},
		{"the earliest on local disks", -4, 0, -1, 0},
		{"the latest in tiered storage, of which there is none", -5, -1, -1, -1},
		{"the earliest that waits for tiering, of which there is none", -6, -1, -1, -1},
		{"time zero", 0, 0, 1000, 0},
		{"exactly a record's time", 3000, 1, 3000, 0},
		{"between two times of one batch", 1500, 1, 3000, 0},
		{"after the first batch", 3001, 4, 5000, 0},
		{"the last record's time", 5000, 4, 5000, 0},
		{"past every record", 5001, -1, -1, -1},
	}
	for _, c := range cases {
		t.Run(c.title, func(t *testing.T) {
			got := listOffsetAt(conn, 11, to.name, 0, c.time)
			expectCode(t, got.ErrorCode, 0)
			if got.Offset != c.offset || got.Timestamp != c.when || got.LeaderEpoch != c.epoch {
				t.Errorf("offset %d, timestamp %d, epoch %d; want %d, %d, %d", got.Offset, got.Timestamp, got.LeaderEpoch, c.offset, c.when, c.epoch)
			}
		})
	}
}

func TestListOffsetsFindsTheExactRecordInACompressedBatch(t *testing.T) {
	address := broker(t)
	conn, to := wire.Dial(t, address), createTopic(t, address, 1)
	batch := wire.Values(1000, "a", "b", "c")
	batch.Records[1].TimeDelta, batch.Records[2].TimeDelta = 500, 250
	batch.Attributes, batch.Payload = 1, gzipped(t, batch.EncodeRecords())
	expectCode(t, produce(conn, produceRequest(nameVersion, to, 1, batch.Bytes())).ErrorCode, 0)
	for _, c := range []struct{ time, offset, when int64 }{{1100, 1, 1500}, {-3, 1, 1500}, {1000, 0, 1000}} {
		if got := listOffset(conn, to.name, 0, c.time); got.Offset != c.offset || got.Timestamp != c.when {
			t.Errorf("time %d: offset %d, timestamp %d; want %d, %d", c.time, got.Offset, got.Timestamp, c.offset, c.when)
		}
	}
}

func TestListOffsetsOfAnEmptyLog(t *testing.T) {
	address := broker(t)
	conn, to := wire.Dial(t, address), createTopic(t, address, 1)
	for _, c := range []struct {
		time, offset int64
		epoch        int32
	}{{-1, 0, 0}, {-2, 0, 0}, {-3, -1, -1}, {0, -1, -1}} {
		got := listOffset(conn, to.name, 0, c.time)
		expectCode(t, got.ErrorCode, 0)
		if got.Offset != c.offset || got.Timestamp != -1 || got.LeaderEpoch != c.epoch {
			t.Errorf("time %d: offset %d, timestamp %d, epoch %d; want %d, -1, %d", c.time, got.Offset, got.Timestamp, got.LeaderEpoch, c.offset, c.epoch)
		}
	}
}

func TestListOffsetsRefusesTimesBelowTheVersionThatBroughtThem(t *testing.T) {
	address := broker(t)
	conn, to := wire.Dial(t, address), filled(t, address, 1)
	for _, c := range []struct {
		time  int64
		since int16
	}{{-3, 7}, {-4, 8}, {-5, 9}, {-6, 11}} {
		expectCode(t, listOffsetAt(conn, c.since-1, to.name, 0, c.time).ErrorCode, kerr.UnsupportedVersion.Code)
		expectCode(t, listOffsetAt(conn, c.since, to.name, 0, c.time).ErrorCode, 0)
	}
	expectCode(t, listOffsetAt(conn, 11, to.name, 0, -7).ErrorCode, kerr.UnsupportedVersion.Code)
}

func TestListOffsetsAnswersAtEveryVersion(t *testing.T) {
	address := broker(t)
	conn, to := wire.Dial(t, address), filled(t, address, 2)
	for version := int16(1); version <= 11; version++ {
		if got := listOffsetAt(conn, version, to.name, 0, -1); got.ErrorCode != 0 || got.Offset != 2 {
			t.Errorf("v%d: error %d, offset %d", version, got.ErrorCode, got.Offset)
		}
	}
}

func TestListOffsetsNamesWhatIsWrong(t *testing.T) {
	address := broker(t)
	conn, to := wire.Dial(t, address), filled(t, address, 1)
	expectCode(t, listOffset(conn, freshName(), 0, -1).ErrorCode, kerr.UnknownTopicOrPartition.Code)
	expectCode(t, listOffset(conn, to.name, 8, -1).ErrorCode, kerr.UnknownTopicOrPartition.Code)

	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	one := kmsg.NewListOffsetsRequestTopic()
	one.Topic = to.name
	for range 2 {
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Timestamp = -1
		one.Partitions = append(one.Partitions, p)
	}
	req.Topics = append(req.Topics, one)
	for _, p := range wire.On[*kmsg.ListOffsetsResponse](conn, wire.Versioned(req, 10)).Topics[0].Partitions {
		expectCode(t, p.ErrorCode, kerr.InvalidRequest.Code)
	}

	req.Topics[0].Partitions = req.Topics[0].Partitions[:1]
	req.Topics[0].Partitions[0].CurrentLeaderEpoch = 9
	p := wire.On[*kmsg.ListOffsetsResponse](conn, wire.Versioned(req, 10)).Topics[0].Partitions[0]
	expectCode(t, p.ErrorCode, kerr.UnknownLeaderEpoch.Code)
}

func TestOffsetForLeaderEpoch(t *testing.T) {
	address := broker(t)
	conn, to := wire.Dial(t, address), filled(t, address, 3)
	cases := []struct {
		title          string
		name           string
		current, epoch int32
		want           int16
		wantEpoch      int32
		end            int64
	}{
		{"the leader's epoch ends at the log's end", to.name, -1, 0, 0, 0, 3},
		{"an epoch of the future", to.name, -1, 4, 0, -1, -1},
		{"no epoch", to.name, -1, -1, 0, -1, -1},
		{"a client that knows the leader's epoch", to.name, 0, 0, 0, 0, 3},
		{"a client ahead of the leader", to.name, 3, 0, kerr.UnknownLeaderEpoch.Code, -1, -1},
		{"an unknown topic", freshName(), -1, 0, kerr.UnknownTopicOrPartition.Code, -1, -1},
	}
	for _, c := range cases {
		for version := int16(2); version <= 4; version++ {
			t.Run(c.title, func(t *testing.T) {
				req := kmsg.NewPtrOffsetForLeaderEpochRequest()
				req.ReplicaID = -1
				p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
				p.CurrentLeaderEpoch, p.LeaderEpoch = c.current, c.epoch
				one := kmsg.NewOffsetForLeaderEpochRequestTopic()
				one.Topic, one.Partitions = c.name, append(one.Partitions, p)
				req.Topics = append(req.Topics, one)
				got := wire.On[*kmsg.OffsetForLeaderEpochResponse](conn, wire.Versioned(req, version)).Topics[0].Partitions[0]
				expectCode(t, got.ErrorCode, c.want)
				if got.LeaderEpoch != c.wantEpoch || got.EndOffset != c.end {
					t.Errorf("v%d: epoch %d ends at %d, want %d at %d", version, got.LeaderEpoch, got.EndOffset, c.wantEpoch, c.end)
				}
			})
		}
	}
}

func deleteRecords(c *wire.Conn, to topic, offset int64) kmsg.DeleteRecordsResponseTopicPartition {
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.TimeoutMillis = 10_000
	p := kmsg.NewDeleteRecordsRequestTopicPartition()
	p.Offset = offset
	one := kmsg.NewDeleteRecordsRequestTopic()
	one.Topic, one.Partitions = to.name, append(one.Partitions, p)
	req.Topics = append(req.Topics, one)
	return wire.On[*kmsg.DeleteRecordsResponse](c, wire.Versioned(req, 2)).Topics[0].Partitions[0]
}

func TestDeletedRecordsAreOutOfRange(t *testing.T) {
	address := broker(t)
	conn, to := wire.Dial(t, address), filled(t, address, 5)
	steps := []struct {
		title        string
		offset       int64
		want         int16
		lowWatermark int64
	}{
		{"up to the third", 2, 0, 2},
		{"again, less", 1, 0, 2},
		{"past the high watermark", 6, kerr.OffsetOutOfRange.Code, -1},
		{"below zero", -2, kerr.OffsetOutOfRange.Code, -1},
	}
	for _, s := range steps {
		got := deleteRecords(conn, to, s.offset)
		expectCode(t, got.ErrorCode, s.want)
		if got.LowWatermark != s.lowWatermark {
			t.Errorf("%s: low watermark %d, want %d", s.title, got.LowWatermark, s.lowWatermark)
		}
	}
	if got := listOffset(conn, to.name, 0, -2).Offset; got != 2 {
		t.Errorf("the log begins at %d, want 2", got)
	}
	expectCode(t, fetch(conn, fetchRequest(fetchByID, to, 1)).ErrorCode, kerr.OffsetOutOfRange.Code)
	if got := fetch(conn, fetchRequest(fetchByID, to, 2)); got.ErrorCode != 0 || got.LogStartOffset != 2 {
		t.Errorf("error %d, log start %d; want 0 and 2", got.ErrorCode, got.LogStartOffset)
	}
	if got := deleteRecords(conn, to, -1); got.ErrorCode != 0 || got.LowWatermark != 5 {
		t.Errorf("up to the high watermark: error %d, low watermark %d; want 0 and 5", got.ErrorCode, got.LowWatermark)
	}
}

func TestRecordsOfACompactedTopicAreNotDeleted(t *testing.T) {
	address := broker(t)
	to := createTopic(t, address, 1, "cleanup.policy=compact")
	expectCode(t, deleteRecords(wire.Dial(t, address), to, 0).ErrorCode, kerr.PolicyViolation.Code)
	expectCode(t, deleteRecords(wire.Dial(t, address), topic{name: freshName()}, 0).ErrorCode, kerr.UnknownTopicOrPartition.Code)
}

func gzipped(t *testing.T, plain []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
