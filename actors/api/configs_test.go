package api

import (
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cluster/record"
	"troupe/codec/kerr"
)

const (
	ofTopic   = kmsg.ConfigResourceTypeTopic
	ofBroker  = kmsg.ConfigResourceTypeBroker
	ofLogger  = kmsg.ConfigResourceTypeBrokerLogger
	ofMetrics = kmsg.ConfigResourceTypeClientMetrics
	ofGroup   = kmsg.ConfigResourceTypeGroupConfig
)

// describing asks for the configuration of one resource, whole or by key.
func describing(kind kmsg.ConfigResourceType, name string, keys ...string) *kmsg.DescribeConfigsRequest {
	req := kmsg.NewPtrDescribeConfigsRequest()
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName, r.ConfigNames = kind, name, keys
	req.Resources = append(req.Resources, r)
	return req
}

// Codes and texts are Kafka 4.3.1's.
func TestDescribeConfigsNamesWhatIsWrong(t *testing.T) {
	w := newWorld(t)
	cases := []struct {
		title   string
		kind    kmsg.ConfigResourceType
		name    string
		want    kerr.Code
		message string
	}{
		{"a topic that is not there", ofTopic, "missing", kerr.UnknownTopicOrPartition, ""},
		{"a name that no topic has", ofTopic, "a/b", kerr.InvalidTopicException, "Topic name is invalid: 'a/b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"},
		{"a topic without a name", ofTopic, "", kerr.InvalidTopicException, "Topic name is invalid: the empty string is not allowed"},
		{"another broker", ofBroker, "7", kerr.InvalidRequest, "Unexpected broker id, expected 1 or empty string, but received 7"},
		{"a broker whose id is no number", ofBroker, "x", kerr.InvalidRequest, "Broker id must be an integer, but it is: x"},
		{"another broker's loggers", ofLogger, "2", kerr.InvalidRequest, "Unexpected broker id, expected 1 but received 2"},
		{"the loggers of all brokers", ofLogger, "", kerr.InvalidRequest, "Broker id must not be empty"},
		{"a subscription without a name", ofMetrics, "", kerr.InvalidRequest, "Client metrics subscription name must not be empty"},
		{"a group without a name", ofGroup, "", kerr.InvalidRequest, "Group name must not be empty"},
	}
	for _, c := range cases {
		got := ask[*kmsg.DescribeConfigsResponse](w, describing(c.kind, c.name), 4).Resources[0]
		expect(t, c.title, got.ErrorCode, c.want)
		if got.ErrorMessage == nil || *got.ErrorMessage != c.message {
			t.Errorf("%s: message %v, want %q", c.title, *got.ErrorMessage, c.message)
		}
		if len(got.Configs) != 0 || got.ResourceName != c.name || got.ResourceType != c.kind {
			t.Errorf("%s: answered %+v", c.title, got)
		}
	}
}

func TestOneUnknownKindFailsTheWholeDescription(t *testing.T) {
	w := newWorld(t)
	w.topic("orders", 1)
	req := describing(ofTopic, "orders")
	req.Resources = append(req.Resources, describing(77, "orders").Resources...)
	for version := describeConfigs.Min; version <= describeConfigs.Max; version++ {
		for _, r := range ask[*kmsg.DescribeConfigsResponse](w, req, version).Resources {
			expect(t, "each resource", r.ErrorCode, kerr.InvalidRequest)
		}
	}
}

func TestAConfigurationIsDescribedByWhereItsValuesComeFrom(t *testing.T) {
	w := newWorld(t)
	w.topic("orders", 1, "retention.ms", "1000")
	w.apply(
		&record.Config{ResourceType: 4, Name: "log.retention.ms", Value: kmsg.StringPtr("7000")},
		&record.Config{ResourceType: 16, ResourceName: "watch", Name: "interval.ms", Value: kmsg.StringPtr("1000")},
		&record.Config{ResourceType: 32, ResourceName: "readers", Name: "consumer.session.timeout.ms", Value: kmsg.StringPtr("50000")},
	)
	w.node.Config.Output.Level = "info"
	cases := []struct {
		kind       kmsg.ConfigResourceType
		name, key  string
		value      string
		source     kmsg.ConfigSource
		kindOf     kmsg.ConfigType
		readOnly   bool
		synonyms   int // the least number, of which the first is the value's own
		documented bool
	}{
		{ofTopic, "orders", "retention.ms", "1000", kmsg.ConfigSourceDynamicTopicConfig, kmsg.ConfigTypeLong, false, 2, true},
		{ofTopic, "orders", "cleanup.policy", "delete", kmsg.ConfigSourceDefaultConfig, kmsg.ConfigTypeList, false, 1, true},
		{ofBroker, "1", "log.retention.ms", "7000", kmsg.ConfigSourceDynamicDefaultBrokerConfig, kmsg.ConfigTypeLong, false, 1, true},
		{ofBroker, "1", "node.id", "1", kmsg.ConfigSourceStaticBrokerConfig, kmsg.ConfigTypeInt, true, 1, true},
		{ofBroker, "", "log.retention.ms", "7000", kmsg.ConfigSourceDynamicDefaultBrokerConfig, kmsg.ConfigTypeLong, false, 1, true},
		{ofLogger, "1", "root", "INFO", kmsg.ConfigSourceDynamicBrokerLoggerConfig, kmsg.ConfigTypeUnknown, true, 0, false},
		{ofMetrics, "watch", "interval.ms", "1000", kmsg.ConfigSourceClientMetricsConfig, kmsg.ConfigTypeInt, false, 1, true},
		{ofMetrics, "unheard", "interval.ms", "300000", kmsg.ConfigSourceDefaultConfig, kmsg.ConfigTypeInt, false, 0, true},
		{ofGroup, "readers", "consumer.session.timeout.ms", "50000", kmsg.ConfigSourceGroupConfig, kmsg.ConfigTypeInt, false, 1, true},
		{ofGroup, "readers", "share.auto.offset.reset", "latest", kmsg.ConfigSourceDefaultConfig, kmsg.ConfigTypeString, false, 0, true},
	}
	for _, c := range cases {
		req := describing(c.kind, c.name, c.key)
		req.IncludeSynonyms, req.IncludeDocumentation = true, true
		got := ask[*kmsg.DescribeConfigsResponse](w, req, 4).Resources[0]
		if got.ErrorCode != 0 || len(got.Configs) != 1 {
			t.Errorf("%s of %v %q: %+v", c.key, c.kind, c.name, got)
			continue
		}
		k := got.Configs[0]
		if k.Value == nil || *k.Value != c.value || k.Source != c.source || k.ConfigType != c.kindOf || k.ReadOnly != c.readOnly || k.IsSensitive {
			t.Errorf("%s of %v %q is %+v", c.key, c.kind, c.name, k)
		}
		if len(k.ConfigSynonyms) < c.synonyms || c.synonyms > 0 && *k.ConfigSynonyms[0].Value != c.value {
			t.Errorf("%s of %v %q has synonyms %+v", c.key, c.kind, c.name, k.ConfigSynonyms)
		}
		if told := k.Documentation != nil && *k.Documentation != ""; told != c.documented {
			t.Errorf("%s of %v %q is documented: %v", c.key, c.kind, c.name, told)
		}
		req.IncludeSynonyms, req.IncludeDocumentation = false, false
		if k := ask[*kmsg.DescribeConfigsResponse](w, req, 4).Resources[0].Configs[0]; len(k.ConfigSynonyms) != 0 || k.Documentation != nil {
			t.Errorf("%s: synonyms and documentation that nobody asked for: %+v", c.key, k)
		}
	}
}

func TestASecretIsNotTold(t *testing.T) {
	w := newWorld(t)
	w.apply(&record.Config{ResourceType: 4, Name: "ssl.keystore.password", Value: kmsg.StringPtr("secret")})
	for _, broker := range []string{"", "1"} {
		req := describing(ofBroker, broker, "ssl.keystore.password")
		req.IncludeSynonyms = true
		k := ask[*kmsg.DescribeConfigsResponse](w, req, 4).Resources[0].Configs[0]
		if k.Value != nil || !k.IsSensitive || slices.ContainsFunc(k.ConfigSynonyms, func(s kmsg.DescribeConfigsResponseResourceConfigConfigSynonym) bool { return s.Value != nil }) {
			t.Errorf("of broker %q: %+v", broker, k)
		}
	}
}

// altering sets one key of each resource.
func altering(resources ...string) *kmsg.IncrementalAlterConfigsRequest {
	kinds := map[string]kmsg.ConfigResourceType{"topic": ofTopic, "broker": ofBroker, "logger": ofLogger, "metrics": ofMetrics, "group": ofGroup, "unknown": 77}
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	for _, resource := range resources {
		kind, name, _ := strings.Cut(resource, " ")
		r := kmsg.NewIncrementalAlterConfigsRequestResource()
		r.ResourceType, r.ResourceName = kinds[kind], name
		e := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		e.Name, e.Value = "root", kmsg.StringPtr("5")
		r.Configs = append(r.Configs, e)
		req.Resources = append(req.Resources, r)
	}
	return req
}

// obedient answers as a controller that finds every change good, and tells so in a message.
func obedient(req kmsg.Request) kmsg.Response {
	if old, ok := req.(*kmsg.AlterConfigsRequest); ok {
		resp := old.ResponseKind().(*kmsg.AlterConfigsResponse)
		for _, r := range old.Resources {
			resp.Resources = append(resp.Resources, kmsg.AlterConfigsResponseResource{ResourceType: r.ResourceType, ResourceName: r.ResourceName, ErrorMessage: kmsg.StringPtr("by the controller")})
		}
		return resp
	}
	in := req.(*kmsg.IncrementalAlterConfigsRequest)
	resp := in.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
	for _, r := range in.Resources {
		resp.Resources = append(resp.Resources, kmsg.IncrementalAlterConfigsResponseResource{ResourceType: r.ResourceType, ResourceName: r.ResourceName, ErrorMessage: kmsg.StringPtr("by the controller")})
	}
	return resp
}

// Codes and texts are Kafka 4.3.1's, but for the root logger.
func TestABrokerRefusesAlterationsThatAreNotForTheController(t *testing.T) {
	const byController = "by the controller"
	cases := []struct {
		resource string
		want     kerr.Code
		message  string
		older    string // the message of AlterConfigs, where it differs
	}{
		{"topic orders", kerr.None, byController, ""},
		{"topic ", kerr.InvalidRequest, "Default topic resources are not allowed.", ""},
		{"topic a/b", kerr.InvalidTopicException, "Topic name is invalid: 'a/b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'", ""},
		{"broker ", kerr.None, byController, ""},
		{"broker 1", kerr.None, byController, ""},
		{"broker 66", kerr.InvalidRequest, "Unexpected broker id, expected 1, but received 66", ""},
		{"broker -1", kerr.InvalidRequest, "Unexpected broker id, expected 1, but received -1", ""},
		{"broker one", kerr.InvalidRequest, "Node id must be an integer, but it is: one", ""},
		{"metrics watch", kerr.None, byController, ""},
		{"metrics ", kerr.InvalidRequest, "Subscription name can't be empty", ""},
		{"group readers", kerr.None, byController, ""},
		{"group ", kerr.InvalidRequest, "Default group resources are not allowed.", ""},
		{"unknown x", kerr.InvalidRequest, "Unknown resource type 77", ""},
		{"logger 2", kerr.InvalidRequest, "Unexpected broker id, expected 1 but received 2", "Unknown resource type 8"},
		{"logger 1", kerr.InvalidRequest, "The level of the root logger is set by log.level when the broker starts.", "Unknown resource type 8"},
	}
	w := newWorld(t)
	w.answer = obedient
	all := altering()
	older := kmsg.NewPtrAlterConfigsRequest()
	for _, c := range cases {
		all.Resources = append(all.Resources, altering(c.resource).Resources...)
	}
	for _, r := range all.Resources {
		o := kmsg.NewAlterConfigsRequestResource()
		o.ResourceType, o.ResourceName = r.ResourceType, r.ResourceName
		o.Configs = append(o.Configs, kmsg.AlterConfigsRequestResourceConfig{Name: "root", Value: kmsg.StringPtr("5")})
		older.Resources = append(older.Resources, o)
	}
	resp, old := ask[*kmsg.IncrementalAlterConfigsResponse](w, all, 1), ask[*kmsg.AlterConfigsResponse](w, older, 2)
	for i, c := range cases {
		expect(t, c.resource, resp.Resources[i].ErrorCode, c.want)
		if got := resp.Resources[i].ErrorMessage; got == nil || *got != c.message {
			t.Errorf("%s: message %v, want %q", c.resource, got, c.message)
		}
		if c.older == "" {
			c.older = c.message
		}
		if got := old.Resources[i].ErrorMessage; got == nil || *got != c.older {
			t.Errorf("AlterConfigs of %s: message %q, want %q", c.resource, *got, c.older)
		}
	}
	if got := len(w.controlled[0].(*kmsg.IncrementalAlterConfigsRequest).Resources); got != 5 {
		t.Errorf("the controller was asked for %d resources, want the 5 that are its own", got)
	}
}

func TestAlterationsOfOneResourceTwiceOrToNullAreRefused(t *testing.T) {
	w := newWorld(t)
	w.answer = obedient
	req := altering("topic orders", "topic others", "topic orders", "topic nulls")
	req.Resources[3].Configs[0].Value = nil
	resp := ask[*kmsg.IncrementalAlterConfigsResponse](w, req, 1)
	want := []kerr.Code{kerr.InvalidRequest, kerr.None, kerr.InvalidRequest, kerr.InvalidRequest}
	for i, r := range resp.Resources {
		expect(t, r.ResourceName, r.ErrorCode, want[i])
	}
	if *resp.Resources[3].ErrorMessage != "Null value not supported for : root" {
		t.Errorf("null is refused as %q", *resp.Resources[3].ErrorMessage)
	}
	req = altering("broker 66")
	w.controlled = nil
	expect(t, "nothing that is the controller's", ask[*kmsg.IncrementalAlterConfigsResponse](w, req, 0).Resources[0].ErrorCode, kerr.InvalidRequest)
	if len(w.controlled) != 0 {
		t.Errorf("the controller was asked for %+v", w.controlled)
	}
}

// The order of the kinds, and the codes, are Kafka 4.3.1's.
func TestConfigurableThingsAreListed(t *testing.T) {
	w := newWorld(t)
	w.topic("orders", 1)
	w.apply(
		&record.Config{ResourceType: 16, ResourceName: "watch", Name: "interval.ms", Value: kmsg.StringPtr("1000")},
		&record.Config{ResourceType: 32, ResourceName: "readers", Name: "consumer.session.timeout.ms", Value: kmsg.StringPtr("50000")},
	)
	cases := []struct {
		version int16
		kinds   []int8
		want    string
		code    kerr.Code
	}{
		{0, nil, "watch/16", kerr.None},
		{1, nil, "readers/32 watch/16 1/8 1/4 orders/2", kerr.None},
		{1, []int8{2}, "orders/2", kerr.None},
		{1, []int8{2, 2, 4}, "1/4 orders/2", kerr.None},
		{1, []int8{2, 77}, "", kerr.UnsupportedVersion},
		{1, []int8{0}, "", kerr.UnsupportedVersion},
	}
	for _, c := range cases {
		req := kmsg.NewPtrListConfigResourcesRequest()
		req.ResourceTypes = c.kinds
		resp := ask[*kmsg.ListConfigResourcesResponse](w, req, c.version)
		expect(t, c.want, resp.ErrorCode, c.code)
		var got []string
		for _, r := range resp.ConfigResources {
			got = append(got, r.Name+"/"+map[int8]string{2: "2", 4: "4", 8: "8", 16: "16", 32: "32"}[int8(r.Type)])
		}
		if list := strings.Join(got, " "); list != c.want {
			t.Errorf("v%d, kinds %v: listed %q, want %q", c.version, c.kinds, list, c.want)
		}
	}
}

// The controller does not know the directories of a broker (KIP-1066).
func TestABrokerJudgesWhichOfItsLogDirectoriesAreCordoned(t *testing.T) {
	const missing = "requirement failed: All entries in cordoned.log.dirs must be present in log.dirs or log.dir. Missing entries : /else"
	w := newWorld(t)
	w.answer = obedient
	for value, want := range map[string]string{"/data": "by the controller", "*": "by the controller", "/else": missing} {
		req := altering("broker 1", "broker ")
		older := kmsg.NewPtrAlterConfigsRequest()
		for i := range req.Resources {
			r := &req.Resources[i]
			r.Configs[0].Name, r.Configs[0].Value = "cordoned.log.dirs", &value
			o := kmsg.NewAlterConfigsRequestResource()
			o.ResourceType, o.ResourceName = r.ResourceType, r.ResourceName
			o.Configs = append(o.Configs, kmsg.AlterConfigsRequestResourceConfig{Name: r.Configs[0].Name, Value: &value})
			older.Resources = append(older.Resources, o)
		}
		resp, old := ask[*kmsg.IncrementalAlterConfigsResponse](w, req, 1), ask[*kmsg.AlterConfigsResponse](w, older, 2)
		if got, other := *resp.Resources[0].ErrorMessage, *old.Resources[0].ErrorMessage; got != want || other != want {
			t.Errorf("%s: answered %q, and of AlterConfigs %q, want %q", value, got, other, want)
		}
		if got := *resp.Resources[1].ErrorMessage; got != "by the controller" {
			t.Errorf("%s of all brokers: answered %q", value, got)
		}
	}
}
