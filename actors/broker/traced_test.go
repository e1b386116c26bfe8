package broker

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/trace"
)

// A request that has a disk lane or a replica work for it is one trace with that work.
func TestWorkForARequestBelongsToItsTrace(t *testing.T) {
	n := newNode(t, 1, "trace.sample.every=1")
	n.start()
	c := dial(t, n.address())
	if err := createTopic(c, "a", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.call(produceRequest("a", -1, records(nil, time.UnixMilli(1000), "x"))); err != nil {
		t.Fatal(err)
	}
	offsets := kmsg.NewPtrListOffsetsRequest()
	offsets.Version, offsets.ReplicaID = 7, -1
	offsets.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: "a", Partitions: []kmsg.ListOffsetsRequestTopicPartition{{Timestamp: 500, CurrentLeaderEpoch: -1}}}}
	deletion := kmsg.NewPtrDeleteRecordsRequest()
	deletion.Version, deletion.TimeoutMillis = 2, 10_000
	deletion.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: "a", Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: 0}}}}
	dirs := kmsg.NewPtrDescribeLogDirsRequest()
	dirs.Version = 4
	producers := kmsg.NewPtrDescribeProducersRequest()
	producers.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: "a", Partitions: []int32{0}}}
	for _, r := range []struct {
		request kmsg.Request
		api     string
		work    string
	}{
		{offsets, "ListOffsets", "disk.task"}, {deletion, "DeleteRecords", "replica.delete-records"},
		{dirs, "DescribeLogDirs", "disk.task"}, {producers, "DescribeProducers", "replica.describe-producers"},
	} {
		if _, err := c.call(r.request); err != nil {
			t.Fatal(err)
		}
		eventually(t, r.api+" and "+r.work+" are one trace", func() bool {
			traces := map[trace.TraceID]map[string]bool{}
			for _, s := range n.tracer.Recent(1 << 16) {
				if traces[s.TraceID] == nil {
					traces[s.TraceID] = map[string]bool{}
				}
				traces[s.TraceID][s.Kind] = true
			}
			for _, kinds := range traces {
				if kinds[r.api] && kinds[r.work] {
					return true
				}
			}
			return false
		})
	}
}
