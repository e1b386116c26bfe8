package api

import (
	"bytes"
	"os"
	"testing"
	"time"
	"unique"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
	"troupe/internal/clock"
	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog"
)

// region is a stretch of a file with n bytes that tell where they stand.
func region(t *testing.T, n int) (partitionlog.Region, []byte) {
	t.Helper()
	want := make([]byte, n)
	for i := range want {
		want[i] = byte(i * 7)
	}
	fs := vfs.NewCrashFS(1, clock.NewManual(time.Unix(0, 0)))
	f, err := fs.Open("/segment", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(append([]byte("before"), want...), 0); err != nil {
		t.Fatal(err)
	}
	return partitionlog.Region{File: f, Pos: int64(len("before")), Len: int64(n)}, want
}

// results are every form that one partition's part of a Fetch reply takes, with what kmsg would have for each.
func results(t *testing.T, w *world, version int16) ([]fetchResult, []kmsg.FetchResponseTopic) {
	small, smallBytes := region(t, 300)
	large, largeBytes := region(t, inlineMax+1)
	part := func(name string, id byte, number int32) *fetchPart {
		return &fetchPart{topic: unique.Make(topicName{name: name, id: model.TopicID{id}}), partition: number}
	}
	none := fetchResult{highWatermark: -1, lastStable: -1, start: -1}
	first, aborted, empty, wrong, moved, apart := none, none, none, none, none, none
	first.part, first.region, first.highWatermark, first.lastStable, first.start = part("orders", 1, 0), small, 30, 25, 3
	aborted.part, aborted.region, aborted.highWatermark, aborted.lastStable, aborted.start = part("orders", 1, 4), large, 9, 8, 0
	aborted.aborted = []partitionlog.AbortedTxn{{ProducerID: 7, FirstOffset: 2}, {ProducerID: 8, FirstOffset: 5}}
	empty.part, empty.aborted, empty.highWatermark, empty.lastStable, empty.start = part("audit", 2, 1), []partitionlog.AbortedTxn{}, 4, 4, 4
	wrong.part, wrong.code = part("audit", 2, 2), kerr.OffsetOutOfRange
	moved.part, moved.code, moved.leader = part("orders", 1, 5), kerr.NotLeaderOrFollower, &currentLeader{id: 2, epoch: 6}
	apart.part, apart.diverging, apart.highWatermark, apart.lastStable, apart.start = part("orders", 1, 6), &divergingEpoch{epoch: 3, end: 17}, 20, 20, 0
	list := []fetchResult{first, aborted, empty, wrong, moved, apart}
	records := map[*fetchPart][]byte{first.part: smallBytes, aborted.part: largeBytes}

	var topics []kmsg.FetchResponseTopic
	for i := range list {
		p := list[i].part
		if i == 0 || list[i-1].part.topic != p.topic {
			topics = append(topics, kmsg.FetchResponseTopic{Topic: p.topic.Value().name, TopicID: p.topic.Value().id})
		}
		last := &topics[len(topics)-1]
		last.Partitions = append(last.Partitions, inKmsg(&list[i], records[p], version))
	}
	return list, topics
}

func inKmsg(r *fetchResult, records []byte, version int16) kmsg.FetchResponseTopicPartition {
	p := kmsg.NewFetchResponseTopicPartition()
	p.Partition, p.ErrorCode = r.part.partition, int16(r.code)
	p.HighWatermark, p.LastStableOffset, p.LogStartOffset = int64(r.highWatermark), int64(r.lastStable), int64(r.start)
	p.RecordBatches = append([]byte{}, records...)
	if r.aborted != nil {
		p.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
	}
	for _, a := range r.aborted {
		p.AbortedTransactions = append(p.AbortedTransactions, kmsg.FetchResponseTopicPartitionAbortedTransaction{
			ProducerID: int64(a.ProducerID), FirstOffset: int64(a.FirstOffset),
		})
	}
	if r.diverging != nil {
		p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset = int32(r.diverging.epoch), int64(r.diverging.end)
	}
	if r.leader != nil && version >= 16 {
		p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = int32(r.leader.id), int32(r.leader.epoch)
	}
	return p
}

func TestAFetchReplyIsLaidOutAsKmsgLaysItOut(t *testing.T) {
	for version := fetch.Min; version <= fetch.Max; version++ {
		w := newWorld(t)
		w.broker(2, false)
		list, topics := results(t, w, version)
		want := kmsg.NewPtrFetchResponse()
		want.Version, want.Topics, want.SessionID = version, topics, 77
		if version >= 16 {
			b := kmsg.NewFetchResponseBroker()
			b.NodeID, b.Host, b.Port = 2, "host-2", 9094
			want.Brokers = append(want.Brokers, b)
		}
		op := &fetchOp{reader: reader{id: consumerReplica},
			node: w.node, results: list, sessionID: 77,
			request: NewRequest(Arrival{Version: version, Client: w.client}),
		}
		payload := encodeFetch(op)
		if len(payload.Holes) != 1 {
			t.Errorf("v%d: %d regions are sent from their files, want the large one alone", version, len(payload.Holes))
		}
		if got, want := w.filled(payload), want.AppendTo(nil); !bytes.Equal(got, want) {
			t.Errorf("v%d: laid out as\n%x\nwant\n%x", version, got, want)
		}
	}
}

func TestARegionThatWasCutUnderTheReaderIsLeftOut(t *testing.T) {
	w := newWorld(t)
	w.topic("orders", 1)
	cut, _ := region(t, 100)
	cut.Len = 200
	part := &fetchPart{topic: unique.Make(topicName{name: "orders"}), handle: w.node.Replicas.Get(model.TopicPartition{Topic: "orders"})}
	op := &fetchOp{reader: reader{id: consumerReplica},
		node: w.node, results: []fetchResult{{part: part, region: cut}},
		request: NewRequest(Arrival{Version: 12, Client: w.client}),
	}
	resp := decoded[*kmsg.FetchResponse](t, &kmsg.FetchRequest{Version: 12}, w.filled(encodeFetch(op)))
	if got := len(resp.Topics[0].Partitions[0].RecordBatches); got != 0 {
		t.Errorf("%d bytes of records, of which 100 are not there", got)
	}
}
