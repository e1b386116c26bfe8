package console_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/batch"
	"troupe/codec/kerr"
)

// table reads a file of lines, each a name and perhaps a tab and a text; "#" begins a comment.
func table(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for _, line := range lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			name, rest, _ := strings.Cut(line, "\t")
			rows[name] = rest
		}
	}
	return rows
}

// ofFollowers has the names that a node that is alone has nothing to tell under; tests/integration looks at them in a cluster.
var ofFollowers = map[string]bool{"kafka_server_fetcherlagmetrics_consumerlag": true}

func TestEveryCustomaryNameIsExportedOrSaysWhyNot(t *testing.T) {
	n := startNode(t, "group.lag.interval.ms=100", "group.lag.partitions=true")
	n.create("orders", 1)
	n.produce("orders", 0, "a")
	n.commit("late", "orders", 0)
	n.settled(1)
	exported := map[string]bool{}
	n.eventually("the lag is told", func() bool {
		for series := range n.metrics() {
			name, _, _ := strings.Cut(series, "{")
			exported[name] = true
		}
		return exported["kafka_consumergroup_lag"]
	})
	absent := table(t, "testdata/not-exported.txt")
	for name := range table(t, "testdata/customary-names.txt") {
		why, listed := absent[name]
		switch there := exported[name]; {
		case there && listed:
			t.Errorf("%s is exported, and is listed among those that are not", name)
		case !there && !ofFollowers[name] && why == "":
			t.Errorf("%s is not exported, and nothing says why", name)
		}
		delete(absent, name)
	}
	for name := range absent {
		t.Errorf("%s is not exported, and no customary name", name)
	}
}

func TestRefusedBatchesAreCountedByWhatWasWrong(t *testing.T) {
	n := startNode(t)
	n.createWith("compacted", "cleanup.policy", "compact")
	keyless := "kafka_server_brokertopicmetrics_nokeycompactedtopicrecords_total"
	if err := n.produceErr("compacted", "a"); err == nil {
		t.Fatal("a compacted topic has taken a record without a key")
	}
	if got := n.metrics()[keyless+`{topic=""}`]; got != 1 {
		t.Errorf("%v records without a key are counted, want 1", got)
	}
	misnumbered := "kafka_server_brokertopicmetrics_invalidoffsetorsequencerecords_total"
	n.create("orders", 1)
	n.produceMisnumbered("orders")
	if got := n.metrics()[misnumbered+`{topic=""}`]; got != 1 {
		t.Errorf("%v batches with impossible offsets are counted, want 1", got)
	}
}

// produceErr sends a record that is expected to be refused.
func (n *node) produceErr(topic, value string) error {
	return n.client.ProduceSync(n.context(), &kgo.Record{Topic: topic, Value: []byte(value)}).FirstErr()
}

// produceMisnumbered sends a batch that does not begin at offset 0, as those of producers do.
func (n *node) produceMisnumbered(topic string) {
	n.t.Helper()
	b, err := batch.NewBuilder(batch.Options{}).Add(batch.Record{Timestamp: time.Now().UnixMilli(), Value: []byte("a")}).Build()
	if err != nil {
		n.t.Fatal(err)
	}
	b.SetBaseOffset(5)
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis, req.Version = 1, 30_000, 9
	t := kmsg.NewProduceRequestTopic()
	t.Topic = topic // or its id, as the client finds the version
	described, err := kadm.NewClient(n.client).ListTopics(n.context(), topic)
	if err != nil {
		n.t.Fatal(err)
	}
	t.TopicID = described[topic].ID
	p := kmsg.NewProduceRequestTopicPartition()
	p.Records = b
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(n.context(), n.client.Broker(1))
	if err != nil {
		n.t.Fatal(err)
	}
	if code := kerr.Code(resp.Topics[0].Partitions[0].ErrorCode); code != kerr.InvalidRecord {
		n.t.Fatalf("a batch at offset 5 is answered with %s", code.Name())
	}
}
