package integration

import (
	"bytes"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/tests/wire"
)

const fetchByName, fetchByID = 12, 18

// longPoll, in milliseconds, is longer than a test waits for an answer: only a wake-up ends it.
const longPoll = 120_000

// filled makes a topic whose partition 0 holds n batches of one record each, the same in every topic.
func filled(t *testing.T, address string, n int) topic {
	t.Helper()
	conn, to := wire.Dial(t, address), createTopic(t, address, 1)
	for i := range n {
		got := produce(conn, produceRequest(nameVersion, to, -1, wire.Values(began, string(rune('a'+i))).Bytes()))
		if got.ErrorCode != 0 || got.BaseOffset != int64(i) {
			t.Fatalf("batch %d: error %d, offset %d", i, got.ErrorCode, got.BaseOffset)
		}
	}
	return to
}

func TestFetchAnswersWhatItCannotServe(t *testing.T) {
	address := broker(t)
	conn := wire.Dial(t, address)
	from := filled(t, address, 3)
	stranger := from
	stranger.id[0] ^= 0xff
	partition := func(v int16, edit func(*kmsg.FetchRequestTopicPartition)) *kmsg.FetchRequest {
		req := fetchRequest(v, from, 0)
		edit(&req.Topics[0].Partitions[0])
		return req
	}
	cases := []struct {
		title  string
		req    *kmsg.FetchRequest
		want   *kerr.Error
		marks  int64 // high watermark and last stable offset beside the error
		starts int64
	}{
		{"an offset past the end", fetchRequest(fetchByName, from, 4), kerr.OffsetOutOfRange, -1, -1},
		{"an offset below zero", fetchRequest(fetchByName, from, -5), kerr.OffsetOutOfRange, -1, -1},
		{"an unknown name", fetchRequest(fetchByName, topic{name: freshName()}, 0), kerr.UnknownTopicOrPartition, -1, -1},
		{"an unknown id", fetchRequest(fetchByID, stranger, 0), kerr.UnknownTopicID, -1, -1},
		{"a partition that is not there", partition(fetchByName, func(p *kmsg.FetchRequestTopicPartition) { p.Partition = 9 }), kerr.UnknownTopicOrPartition, -1, -1},
		{"a leader epoch of the future", partition(fetchByName, func(p *kmsg.FetchRequestTopicPartition) { p.CurrentLeaderEpoch = 5 }), kerr.UnknownLeaderEpoch, -1, -1},
		{"a last fetched epoch newer than the leader's", partition(fetchByName, func(p *kmsg.FetchRequestTopicPartition) { p.LastFetchedEpoch = 5 }), kerr.OffsetOutOfRange, -1, -1},
	}
	for _, c := range cases {
		t.Run(c.title, func(t *testing.T) {
			got := fetch(conn, c.req)
			expectCode(t, got.ErrorCode, c.want.Code)
			if got.HighWatermark != c.marks || got.LastStableOffset != c.marks || got.LogStartOffset != c.starts {
				t.Errorf("high watermark %d, last stable offset %d, log start %d; want %d, %d, %d",
					got.HighWatermark, got.LastStableOffset, got.LogStartOffset, c.marks, c.marks, c.starts)
			}
			if len(got.RecordBatches) != 0 {
				t.Errorf("%d bytes of records beside an error", len(got.RecordBatches))
			}
		})
	}
}

func TestFetchGivesWholeBatchesWithinItsLimits(t *testing.T) {
	address := broker(t)
	conn := wire.Dial(t, address)
	from := filled(t, address, 3)
	one := len(wire.Values(now(), "a").Bytes())
	cases := []struct {
		title                     string
		maxBytes, partitionBytes  int32
		offset                    int64
		wantBytes                 int
		wantFirst, wantWatermarks int64
	}{
		{"everything", 1 << 20, 1 << 20, 0, 3 * one, 0, 3},
		{"from the second on", 1 << 20, 1 << 20, 1, 2 * one, 1, 3},
		{"a limit of the partition of one byte gives the first batch", 1 << 20, 1, 0, one, 0, 3},
		{"a limit of the partition of no byte too", 1 << 20, 0, 0, one, 0, 3},
		{"a limit of the request of no byte too", 0, 1 << 20, 0, one, 0, 3},
		{"at the end there is nothing", 1 << 20, 1 << 20, 3, 0, 0, 3},
	}
	for _, c := range cases {
		t.Run(c.title, func(t *testing.T) {
			req := fetchRequest(fetchByID, from, c.offset)
			req.MaxBytes = c.maxBytes
			req.Topics[0].Partitions[0].PartitionMaxBytes = c.partitionBytes
			got := fetch(conn, req)
			expectCode(t, got.ErrorCode, 0)
			// The last batch may be cut: a client reads whole ones only.
			whole := wholeBatches(t, got.RecordBatches)
			if size := len(bytes.Join(whole, nil)); size != c.wantBytes {
				t.Errorf("%d bytes of whole batches, want %d", size, c.wantBytes)
			}
			if got.HighWatermark != c.wantWatermarks || got.LastStableOffset != c.wantWatermarks || got.LogStartOffset != 0 {
				t.Errorf("high watermark %d, last stable offset %d, log start %d", got.HighWatermark, got.LastStableOffset, got.LogStartOffset)
			}
			if len(whole) > 0 {
				if first := baseOffset(whole[0]); first != c.wantFirst {
					t.Errorf("the first batch is that of offset %d, want %d", first, c.wantFirst)
				}
			}
		})
	}
}

func TestFetchInsideABatchGivesTheWholeBatch(t *testing.T) {
	address := broker(t)
	conn, to := wire.Dial(t, address), createTopic(t, address, 1)
	sent := wire.Values(now(), "a", "b", "c").Bytes()
	produce(conn, produceRequest(nameVersion, to, 1, sent))
	if got := fetchBytes(t, conn, to, 2); baseOffset(got) != 0 || len(got) != len(sent) {
		t.Errorf("%d bytes from offset %d, want the %d of the batch that holds offset 2", len(got), baseOffset(got), len(sent))
	}
}

func TestTheSamePartitionTwiceInAFetchCountsOnce(t *testing.T) {
	address := broker(t)
	conn, from := wire.Dial(t, address), filled(t, address, 3)
	req := fetchRequest(fetchByID, from, 0)
	again := req.Topics[0].Partitions[0]
	again.FetchOffset = 2
	req.Topics[0].Partitions = append(req.Topics[0].Partitions, again)
	resp := wire.On[*kmsg.FetchResponse](conn, req)
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		t.Fatalf("answered as %+v, want one partition", resp.Topics)
	}
	if first := baseOffset(resp.Topics[0].Partitions[0].RecordBatches); first != 2 {
		t.Errorf("fetched from offset %d, want that of the last mention, 2", first)
	}
}

func TestALongPollEndsWhenRecordsCome(t *testing.T) {
	address := broker(t)
	reader, writer := wire.Dial(t, address), wire.Dial(t, address)
	from := filled(t, address, 1)
	req := fetchRequest(fetchByID, from, 1)
	req.MaxWaitMillis = longPoll
	waiting := reader.Send(req)
	// Another request on another connection is served meanwhile, and ends the wait.
	produce(writer, produceRequest(nameVersion, from, 1, wire.Values(now(), "news").Bytes()))
	resp := reader.Receive(waiting, req).(*kmsg.FetchResponse)
	if got := resp.Topics[0].Partitions[0]; len(got.RecordBatches) == 0 || baseOffset(got.RecordBatches) != 1 {
		t.Errorf("answered with %d bytes, want the batch at offset 1", len(got.RecordBatches))
	}
}

func TestALongPollEndsAtItsTime(t *testing.T) {
	address := broker(t)
	conn, from := wire.Dial(t, address), filled(t, address, 1)
	req := fetchRequest(fetchByID, from, 1)
	req.MaxWaitMillis = 300
	started := time.Now()
	got := fetch(conn, req)
	expectCode(t, got.ErrorCode, 0)
	if took := time.Since(started); took < 290*time.Millisecond {
		t.Errorf("answered after %v, want 300 ms", took)
	}
}

func TestALongPollWaitsForMinBytes(t *testing.T) {
	address := broker(t)
	reader, writer := wire.Dial(t, address), wire.Dial(t, address)
	from := createTopic(t, address, 1)
	one := wire.Values(now(), "v").Bytes()
	req := fetchRequest(fetchByID, from, 0)
	req.MaxWaitMillis, req.MinBytes = longPoll, int32(3*len(one))
	waiting := reader.Send(req)
	for range 3 {
		produce(writer, produceRequest(nameVersion, from, 1, one))
	}
	resp := reader.Receive(waiting, req).(*kmsg.FetchResponse)
	if got := len(resp.Topics[0].Partitions[0].RecordBatches); got != 3*len(one) {
		t.Errorf("answered with %d bytes, want %d", got, 3*len(one))
	}
}

// An error cannot be waited for, so it is told at once.
func TestALongPollWithAnErrorIsAnsweredAtOnce(t *testing.T) {
	address := broker(t)
	conn, from := wire.Dial(t, address), filled(t, address, 1)
	req := fetchRequest(fetchByID, from, 100)
	req.MaxWaitMillis = longPoll
	expectCode(t, fetch(conn, req).ErrorCode, kerr.OffsetOutOfRange.Code)
}
