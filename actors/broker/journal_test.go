package broker

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
)

func TestAnOperatorFindsInTheLogWhatChanged(t *testing.T) {
	n := newNode(t, 1, "log.retention.check.interval.ms=50", "log.initial.task.delay.ms=50")
	n.start()
	c := dial(t, n.address())
	settings := map[string]string{"retention.ms": "1", "segment.ms": "1", "file.delete.delay.ms": "0"}
	if err := createTopic(c, "orders", settings); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := c.call(produceRequest("orders", -1, records(nil, time.Now().Add(-time.Hour), "old"))); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the old segments are said to have expired", func() bool { return len(n.log.lines("segments expired")) > 0 })
	if got := n.log.lines("segments expired")[0]; !strings.Contains(got, "partition=orders-0") || !strings.Contains(got, "by=retention.ms") {
		t.Errorf("retention says %q", got)
	}
	more := kmsg.NewPtrCreatePartitionsRequest()
	more.Version, more.TimeoutMillis = 3, 10_000
	more.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: "orders", Count: 4}}
	resp, err := c.call(more)
	if err != nil || resp.(*kmsg.CreatePartitionsResponse).Topics[0].ErrorCode != 0 {
		t.Fatal(resp, err)
	}
	alter := kmsg.NewPtrIncrementalAlterConfigsRequest()
	alter.Version = 1
	for _, r := range []struct {
		of               kmsg.ConfigResourceType
		name, key, value string
	}{{kmsg.ConfigResourceTypeTopic, "orders", "retention.bytes", "1000"}, {kmsg.ConfigResourceTypeBroker, "", "log.cleaner.threads", "2"}} {
		value := r.value
		alter.Resources = append(alter.Resources, kmsg.IncrementalAlterConfigsRequestResource{
			ResourceType: r.of, ResourceName: r.name,
			Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: r.key, Value: &value}},
		})
	}
	if resp, err = c.call(alter); err != nil {
		t.Fatal(err)
	}
	for _, r := range resp.(*kmsg.IncrementalAlterConfigsResponse).Resources {
		if r.ErrorCode != 0 {
			t.Fatal(kerr.Code(r.ErrorCode).Name(), *r.ErrorMessage)
		}
	}
	if err := deleteTopic(c, "orders"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`msg="topic created" topic=orders id=`, `msg="partitions added" topic=orders from=1 to=4`,
		`msg="topic configuration changed" topic=orders set="retention.bytes=1000"`,
		`msg="broker configuration changed" broker=all set=log.cleaner.threads`, `msg="topic deleted" topic=orders id=`,
		`msg="log deleted" partition=orders-0`,
	} {
		eventually(t, "the log says "+want, func() bool { return len(n.log.lines(want)) == 1 })
	}
	n.stopClean()

	// What a start replays is no news.
	before := len(n.log.lines("topic created")) + len(n.log.lines("topic deleted"))
	n.start()
	if after := len(n.log.lines("topic created")) + len(n.log.lines("topic deleted")); after != before {
		t.Errorf("a restart tells of %d changes again", after-before)
	}
}
