package integration

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/tests/node"
	"troupe/tests/wire"
)

const (
	ofTopic  = kmsg.ConfigResourceTypeTopic
	ofBroker = kmsg.ConfigResourceTypeBroker
)

// change is one entry of IncrementalAlterConfigs.
type change struct {
	op    kmsg.IncrementalAlterConfigOp
	key   string
	value *string
}

const (
	set          = kmsg.IncrementalAlterConfigOpSet
	deleteKey    = kmsg.IncrementalAlterConfigOpDelete
	appendTo     = kmsg.IncrementalAlterConfigOpAppend
	subtractFrom = kmsg.IncrementalAlterConfigOpSubtract
)

func alter(c *wire.Conn, kind kmsg.ConfigResourceType, name string, changes ...change) int16 {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kind, name
	for _, ch := range changes {
		e := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		e.Name, e.Op, e.Value = ch.key, ch.op, ch.value
		r.Configs = append(r.Configs, e)
	}
	req.Resources = append(req.Resources, r)
	return wire.On[*kmsg.IncrementalAlterConfigsResponse](c, wire.Versioned(req, 1)).Resources[0].ErrorCode
}

func describe(c *wire.Conn, kind kmsg.ConfigResourceType, name string, keys ...string) kmsg.DescribeConfigsResponseResource {
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.IncludeSynonyms, req.IncludeDocumentation = true, true
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName, r.ConfigNames = kind, name, keys
	req.Resources = append(req.Resources, r)
	return wire.On[*kmsg.DescribeConfigsResponse](c, wire.Versioned(req, 4)).Resources[0]
}

// expectConfig checks a value and where it comes from; the change may still be on its way to the broker.
func expectConfig(t *testing.T, c *wire.Conn, kind kmsg.ConfigResourceType, name, key, value string, source kmsg.ConfigSource) {
	t.Helper()
	node.Eventually(t, key+" of "+name+" is "+value, func() bool {
		r := describe(c, kind, name, key)
		return r.ErrorCode == 0 && len(r.Configs) == 1 && r.Configs[0].Value != nil && *r.Configs[0].Value == value && r.Configs[0].Source == source
	})
}

func TestATopicsConfigurationIsChangedKeyByKey(t *testing.T) {
	address := broker(t)
	conn, to := wire.Dial(t, address), createTopic(t, address, 1, "retention.ms=1000")
	expectCode(t, alter(conn, ofTopic, to.name, change{set, "segment.bytes", text("2000000")}), 0)
	expectConfig(t, conn, ofTopic, to.name, "segment.bytes", "2000000", kmsg.ConfigSourceDynamicTopicConfig)
	expectConfig(t, conn, ofTopic, to.name, "retention.ms", "1000", kmsg.ConfigSourceDynamicTopicConfig)
	expectCode(t, alter(conn, ofTopic, to.name, change{deleteKey, "retention.ms", nil}), 0)
	expectConfig(t, conn, ofTopic, to.name, "retention.ms", "604800000", kmsg.ConfigSourceDefaultConfig)
	expectCode(t, alter(conn, ofTopic, to.name, change{appendTo, "cleanup.policy", text("compact")}), 0)
	expectConfig(t, conn, ofTopic, to.name, "cleanup.policy", "delete,compact", kmsg.ConfigSourceDynamicTopicConfig)
	expectCode(t, alter(conn, ofTopic, to.name, change{subtractFrom, "cleanup.policy", text("delete")}), 0)
	expectConfig(t, conn, ofTopic, to.name, "cleanup.policy", "compact", kmsg.ConfigSourceDynamicTopicConfig)
}

func TestIncrementalAlterConfigsNamesWhatIsWrong(t *testing.T) {
	address := broker(t)
	conn, to := wire.Dial(t, address), createTopic(t, address, 1)
	cases := []struct {
		title string
		kind  kmsg.ConfigResourceType
		name  string
		entry change
		want  int16
	}{
		{"set to null", ofTopic, to.name, change{set, "retention.ms", nil}, kerr.InvalidRequest.Code},
		{"append to a number", ofTopic, to.name, change{appendTo, "retention.ms", text("5")}, kerr.InvalidConfig.Code},
		{"an unknown key", ofTopic, to.name, change{set, "no.such.key", text("5")}, kerr.InvalidConfig.Code},
		{"a bad value", ofTopic, to.name, change{set, "retention.ms", text("soon")}, kerr.InvalidConfig.Code},
		{"a value out of range", ofTopic, to.name, change{set, "min.insync.replicas", text("0")}, kerr.InvalidConfig.Code},
		{"deleting a key that is not set", ofTopic, to.name, change{deleteKey, "retention.ms", nil}, 0},
		{"deleting a key that nobody knows", ofTopic, to.name, change{deleteKey, "no.such.key", nil}, 0},
		{"an unknown topic", ofTopic, freshName(), change{set, "retention.ms", text("5")}, kerr.UnknownTopicOrPartition.Code},
		{"a read-only key of the broker", ofBroker, "1", change{set, "log.dirs", text("/elsewhere")}, kerr.InvalidRequest.Code},
		{"a bad value of the broker", ofBroker, "1", change{set, "log.retention.ms", text("soon")}, kerr.InvalidRequest.Code},
		{"a broker that is not there", ofBroker, "66", change{set, "log.retention.ms", text("5")}, kerr.InvalidRequest.Code},
		{"a broker whose id is no number", ofBroker, "one", change{set, "log.retention.ms", text("5")}, kerr.InvalidRequest.Code},
		{"a listener for all brokers", ofBroker, "", change{set, "listeners", text("PLAINTEXT://:1")}, kerr.InvalidRequest.Code},
		{"an unknown kind of resource", 77, "x", change{set, "retention.ms", text("5")}, kerr.InvalidRequest.Code},
	}
	for _, c := range cases {
		t.Run(c.title, func(t *testing.T) { expectCode(t, alter(conn, c.kind, c.name, c.entry), c.want) })
	}
	if r := describe(conn, ofTopic, to.name, "retention.ms"); r.Configs[0].Source != kmsg.ConfigSourceDefaultConfig {
		t.Errorf("a refused change left retention.ms as %+v", r.Configs[0])
	}
}

func TestBrokerConfigurationStandsBelowTheTopics(t *testing.T) {
	address := broker(t)
	conn, to := wire.Dial(t, address), createTopic(t, address, 1)
	defer alter(conn, ofBroker, "", change{deleteKey, "log.retention.ms", nil})
	defer alter(conn, ofBroker, "1", change{deleteKey, "log.retention.ms", nil})

	expectCode(t, alter(conn, ofBroker, "", change{set, "log.retention.ms", text("7000")}), 0)
	expectConfig(t, conn, ofTopic, to.name, "retention.ms", "7000", kmsg.ConfigSourceDynamicDefaultBrokerConfig)
	expectCode(t, alter(conn, ofBroker, "1", change{set, "log.retention.ms", text("8000")}), 0)
	expectConfig(t, conn, ofTopic, to.name, "retention.ms", "8000", kmsg.ConfigSourceDynamicBrokerConfig)
	expectCode(t, alter(conn, ofTopic, to.name, change{set, "retention.ms", text("9000")}), 0)
	expectConfig(t, conn, ofTopic, to.name, "retention.ms", "9000", kmsg.ConfigSourceDynamicTopicConfig)

	r := describe(conn, ofTopic, to.name, "retention.ms")
	var chain []kmsg.ConfigSource
	for _, s := range r.Configs[0].ConfigSynonyms {
		chain = append(chain, s.Source)
	}
	want := []kmsg.ConfigSource{kmsg.ConfigSourceDynamicTopicConfig, kmsg.ConfigSourceDynamicBrokerConfig, kmsg.ConfigSourceDynamicDefaultBrokerConfig, kmsg.ConfigSourceDefaultConfig}
	// The default stands under log.retention.hours, whatever its unit.
	if !slices.Equal(chain, want) {
		t.Errorf("synonyms come from %v, want %v", chain, want)
	}
	if r.Configs[0].ConfigType != kmsg.ConfigTypeLong || r.Configs[0].Documentation == nil || *r.Configs[0].Documentation == "" {
		t.Errorf("type %v, documentation %v", r.Configs[0].ConfigType, r.Configs[0].Documentation)
	}
}

func TestMinInsyncReplicasOfAFreshTopic(t *testing.T) {
	address := broker(t)
	conn, to := wire.Dial(t, address), createTopic(t, address, 1)
	expectConfig(t, conn, ofTopic, to.name, "min.insync.replicas", "1", kmsg.ConfigSourceDynamicDefaultBrokerConfig)
}

func TestAlterConfigsReplacesEverything(t *testing.T) {
	address := broker(t)
	conn, to := wire.Dial(t, address), createTopic(t, address, 1, "retention.ms=1000", "segment.bytes=2000000")
	req := kmsg.NewPtrAlterConfigsRequest()
	r := kmsg.NewAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = ofTopic, to.name
	e := kmsg.NewAlterConfigsRequestResourceConfig()
	e.Name, e.Value = "flush.messages", text("100")
	r.Configs = append(r.Configs, e)
	req.Resources = append(req.Resources, r)
	expectCode(t, wire.On[*kmsg.AlterConfigsResponse](conn, wire.Versioned(req, 2)).Resources[0].ErrorCode, 0)
	expectConfig(t, conn, ofTopic, to.name, "flush.messages", "100", kmsg.ConfigSourceDynamicTopicConfig)
	expectConfig(t, conn, ofTopic, to.name, "retention.ms", "604800000", kmsg.ConfigSourceDefaultConfig)
	expectConfig(t, conn, ofTopic, to.name, "segment.bytes", "1073741824", kmsg.ConfigSourceDefaultConfig)
}

func TestDescribeConfigsOfWhatIsNotThere(t *testing.T) {
	conn := wire.Dial(t, broker(t))
	expectCode(t, describe(conn, ofTopic, freshName()).ErrorCode, kerr.UnknownTopicOrPartition.Code)
	expectCode(t, describe(conn, ofTopic, "a/b").ErrorCode, kerr.InvalidTopicException.Code)
	expectCode(t, describe(conn, ofBroker, "66").ErrorCode, kerr.InvalidRequest.Code)
	expectCode(t, describe(conn, ofBroker, "one").ErrorCode, kerr.InvalidRequest.Code)
}

func TestOneUnknownKindOfResourceFailsTheWholeDescription(t *testing.T) {
	address := broker(t)
	conn, to := wire.Dial(t, address), createTopic(t, address, 1)
	req := kmsg.NewPtrDescribeConfigsRequest()
	for _, kind := range []kmsg.ConfigResourceType{ofTopic, 77} {
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName = kind, to.name
		req.Resources = append(req.Resources, r)
	}
	for _, r := range wire.On[*kmsg.DescribeConfigsResponse](conn, wire.Versioned(req, 4)).Resources {
		expectCode(t, r.ErrorCode, kerr.InvalidRequest.Code)
	}
}

func TestABrokerDescribesItsSettings(t *testing.T) {
	conn := wire.Dial(t, broker(t))
	r := describe(conn, ofBroker, "1", "node.id", "log.dirs", "num.io.threads", "log.retention.hours")
	expectCode(t, r.ErrorCode, 0)
	if len(r.Configs) != 4 {
		t.Fatalf("%d settings are told, want 4", len(r.Configs))
	}
	for _, c := range r.Configs {
		switch c.Name {
		case "node.id":
			if !c.ReadOnly || *c.Value != "1" || c.Source != kmsg.ConfigSourceStaticBrokerConfig {
				t.Errorf("node.id: %+v", c)
			}
		case "log.retention.hours":
			if *c.Value != "168" || c.Source != kmsg.ConfigSourceDefaultConfig || c.ConfigType != kmsg.ConfigTypeInt {
				t.Errorf("log.retention.hours: %+v", c)
			}
		}
	}
}
