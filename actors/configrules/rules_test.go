package configrules

import (
	"maps"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cluster/controller"
	"troupe/cluster/image"
	"troupe/cluster/record"
	"troupe/codec/kerr"
	"troupe/configs"
)

const (
	set      = kmsg.IncrementalAlterConfigOpSet
	remove   = kmsg.IncrementalAlterConfigOpDelete
	appendTo = kmsg.IncrementalAlterConfigOpAppend
)

// layered is a broker whose file says that segments are kept for a day, under what an image holds for all brokers.
func layered(i *image.Image) configs.Layers {
	return configs.Layers{
		Static:  map[string]string{"node.id": "1", "log.dirs": "/data", "log.retention.hours": "24"},
		Default: maps.Collect(i.Config(image.ConfigResource{Type: image.BrokerResource}).All()),
	}
}

func holding(t *testing.T, entries ...record.Config) *image.Image {
	t.Helper()
	e := image.Empty("cluster").Edit()
	for at := range entries {
		if err := e.Apply(0, 1, &entries[at]); err != nil {
			t.Fatal(err)
		}
	}
	i, _ := e.Publish()
	return i
}

func text(s string) *string { return &s }

func change(op kmsg.IncrementalAlterConfigOp, key string, value *string) controller.ConfigChange {
	return controller.ConfigChange{Key: key, Op: op, Value: value}
}

var (
	ofTopic    = image.ConfigResource{Type: image.TopicResource, Name: "orders"}
	ofBroker   = image.ConfigResource{Type: image.BrokerResource, Name: "1"}
	ofBrokers  = image.ConfigResource{Type: image.BrokerResource}
	ofGroup    = image.ConfigResource{Type: image.GroupResource, Name: "readers"}
	ofMetrics  = image.ConfigResource{Type: image.ClientMetricsResource, Name: "watch"}
	ofNobody   = image.ConfigResource{Type: 1, Name: "x"}
	someConfig = image.Config{}.With("retention.ms", "1000")
)

// The codes are Kafka 4.3.1's (facts/README.md, and the administration tests that run against Kafka).
func TestAnAlterationIsJudgedByItsResource(t *testing.T) {
	cases := []struct {
		title  string
		of     image.ConfigResource
		change controller.ConfigChange
		want   kerr.Code
	}{
		{"a topic's number", ofTopic, change(set, "segment.bytes", text("2000000")), kerr.None},
		{"a topic's word for a number", ofTopic, change(set, "segment.bytes", text("many")), kerr.InvalidConfig},
		{"an unknown key of a topic", ofTopic, change(set, "no.such.key", text("1")), kerr.InvalidConfig},
		{"deleting an unknown key of a topic", ofTopic, change(remove, "no.such.key", nil), kerr.None},
		{"null for a topic's value", ofTopic, change(set, "retention.ms", nil), kerr.InvalidRequest},
		{"appending to a topic's number", ofTopic, change(appendTo, "retention.ms", text("5")), kerr.InvalidConfig},
		{"a broker's dynamic key", ofBroker, change(set, "log.retention.ms", text("5000")), kerr.None},
		{"a broker's bad value", ofBroker, change(set, "log.retention.ms", text("soon")), kerr.InvalidRequest},
		{"a broker's read-only key", ofBroker, change(set, "log.dirs", text("/other")), kerr.InvalidRequest},
		{"a key of one broker for all", ofBrokers, change(set, "listeners", text("PLAINTEXT://:1")), kerr.InvalidRequest},
		{"a default of all brokers", ofBrokers, change(set, "log.retention.ms", text("5000")), kerr.None},
		{"a group's key", ofGroup, change(set, "consumer.session.timeout.ms", text("50000")), kerr.None},
		{"an unknown key of a group", ofGroup, change(set, "nope", text("5")), kerr.InvalidConfig},
		{"a group's bad value", ofGroup, change(set, "consumer.session.timeout.ms", text("soon")), kerr.InvalidConfig},
		{"a subscription's key", ofMetrics, change(set, "interval.ms", text("1000")), kerr.None},
		{"an unknown key of a subscription", ofMetrics, change(set, "nope", text("1")), kerr.InvalidRequest},
		{"a kind that has no configuration", ofNobody, change(set, "a", text("b")), kerr.InvalidRequest},
	}
	rules := New(layered)
	for _, c := range cases {
		t.Run(c.title, func(t *testing.T) {
			_, err := rules.Alter(c.of, image.Config{}, []controller.ConfigChange{c.change})
			if got, _ := kerr.Of(err); got != c.want {
				t.Errorf("%v (%v), want %v", got.Name(), err, c.want.Name())
			}
		})
	}
}

func TestAnAlterationKeepsWhatItDoesNotName(t *testing.T) {
	rules := New(layered)
	next, err := rules.Alter(ofTopic, someConfig, []controller.ConfigChange{change(appendTo, "cleanup.policy", text("compact"))})
	if err != nil {
		t.Fatal(err)
	}
	want := image.Config{}.With("cleanup.policy", "delete,compact").With("retention.ms", "1000")
	if !next.Equal(want) {
		t.Errorf("altered to %v, want %v", maps.Collect(next.All()), maps.Collect(want.All()))
	}
	if next, err = rules.Alter(ofTopic, someConfig, []controller.ConfigChange{change(remove, "retention.ms", nil)}); err != nil || next.Len() != 0 {
		t.Errorf("after deleting the only key there are %v (%v)", maps.Collect(next.All()), err)
	}
}

func TestAWholeConfigurationIsChecked(t *testing.T) {
	cases := []struct {
		title string
		of    image.ConfigResource
		entry controller.ConfigChange
		want  kerr.Code
	}{
		{"a topic's value", ofTopic, change(set, "retention.ms", text("1000")), kerr.None},
		{"null for a topic", ofTopic, change(set, "retention.ms", nil), kerr.InvalidConfig},
		{"an unknown key of a topic", ofTopic, change(set, "nope", text("1")), kerr.InvalidConfig},
		{"a broker's value", ofBroker, change(set, "log.retention.ms", text("1000")), kerr.None},
		{"null for a broker", ofBroker, change(set, "log.retention.ms", nil), kerr.InvalidRequest},
		{"a broker's read-only key", ofBroker, change(set, "node.id", text("2")), kerr.InvalidRequest},
		{"a group's value", ofGroup, change(set, "share.isolation.level", text("read_committed")), kerr.None},
		{"a subscription's unknown key", ofMetrics, change(set, "nope", text("1")), kerr.InvalidRequest},
		{"a kind that has no configuration", ofNobody, change(set, "a", text("b")), kerr.InvalidRequest},
	}
	rules := New(layered)
	for _, c := range cases {
		t.Run(c.title, func(t *testing.T) {
			err := rules.Check(c.of, []controller.ConfigChange{c.entry})
			if got, _ := kerr.Of(err); got != c.want {
				t.Errorf("%v (%v), want %v", got.Name(), err, c.want.Name())
			}
		})
	}
}

func TestATopicsValueComesFromTheStrongestLayer(t *testing.T) {
	all := record.Config{ResourceType: 4, Name: "log.retention.ms", Value: text("7000")}
	own := record.Config{ResourceType: 2, ResourceName: "orders", Name: "retention.ms", Value: text("1000")}
	bad := record.Config{ResourceType: 2, ResourceName: "orders", Name: "retention.ms", Value: text("of a later version")}
	const day = "86400000"
	cases := []struct {
		title string
		image *image.Image
		want  string
	}{
		{"the broker's file", holding(t), day},
		{"the default of all brokers", holding(t, all), "7000"},
		{"the topic", holding(t, all, own), "1000"},
		{"a stored value that is not understood gives way to the broker's file", holding(t, bad), day},
	}
	rules := New(layered)
	for _, c := range cases {
		t.Run(c.title, func(t *testing.T) {
			if got := rules.TopicValue(c.image, "orders", "retention.ms"); got != c.want {
				t.Errorf("retention.ms is %q, want %q", got, c.want)
			}
		})
	}
	if got := rules.TopicValue(holding(t), "orders", "no.such.key"); got != "" {
		t.Errorf("a key that no topic has is %q", got)
	}
}

func TestANewTopicIsDescribedWithItsSources(t *testing.T) {
	sources := map[string]int8{}
	for _, c := range New(layered).DescribeTopic(holding(t), someConfig) {
		sources[c.Name] = c.Source
		if c.Name == "retention.ms" && (c.Value == nil || *c.Value != "1000") {
			t.Errorf("retention.ms is told as %v", c.Value)
		}
	}
	// 1 is the topic, 5 the default (KIP-525).
	for key, want := range map[string]int8{"retention.ms": 1, "cleanup.policy": 5} {
		if sources[key] != want {
			t.Errorf("%s comes from source %d, want %d", key, sources[key], want)
		}
	}
}
