package configs

import (
	"maps"
	"testing"

	"troupe/codec/kerr"
)

// Codes and texts are Kafka 4.3.1's.
func TestGroupsAndSubscriptionsTakeTheirOwnKeysOnly(t *testing.T) {
	cases := []struct {
		title   string
		of      Resource
		key     string
		value   string
		want    kerr.Code
		message string
	}{
		{"a group's key", Group, "consumer.session.timeout.ms", "50000", kerr.None, ""},
		{"an unknown key of a group", Group, "nope", "5", kerr.InvalidConfig, "Unknown group config name: nope"},
		{"a word for a group's number", Group, "consumer.session.timeout.ms", "soon", kerr.InvalidConfig, "Invalid value soon for configuration consumer.session.timeout.ms: Not a number of type INT"},
		{"a subscription's key", ClientMetrics, "interval.ms", "1000", kerr.None, ""},
		{"an unknown key of a subscription", ClientMetrics, "nope", "5", kerr.InvalidRequest, "Unknown client metrics configuration: nope"},
	}
	for _, c := range cases {
		t.Run(c.title, func(t *testing.T) {
			code, message := kerr.Of(c.of.Check(map[string]string{c.key: c.value}))
			if code != c.want || message != c.message {
				t.Errorf("%s %q, want %s %q", code.Name(), message, c.want.Name(), c.message)
			}
		})
	}
}

func TestAResourceIsAlteredKeyByKey(t *testing.T) {
	text := func(s string) *string { return &s }
	stored := map[string]string{"interval.ms": "1000"}
	next, err := ClientMetrics.Alter(stored, []Change{{"metrics", Append, text("org.apache")}, {"interval.ms", Delete, nil}, {"nope", Delete, nil}})
	if want := map[string]string{"metrics": "org.apache"}; err != nil || !maps.Equal(next, want) {
		t.Errorf("altered to %v (%v), want %v", next, err, want)
	}
	if stored["interval.ms"] != "1000" {
		t.Error("the stored configuration was changed")
	}
	if _, err := ClientMetrics.Alter(stored, []Change{{"interval.ms", Append, text("5")}}); err == nil {
		t.Error("appended to a number")
	}
}

func TestAResourceIsDescribedWithItsDefaults(t *testing.T) {
	entries, err := ClientMetrics.Describe(map[string]string{"interval.ms": "1000"}, nil)
	if err != nil || len(entries) != 3 {
		t.Fatalf("%v (%v), want the three keys that Kafka lists", entries, err)
	}
	// 7 is the source "client metrics", 5 a default.
	for i, want := range []struct {
		name, value string
		source      Source
		synonyms    int
	}{{"interval.ms", "1000", 7, 1}, {"match", "", DefaultSource, 0}, {"metrics", "", DefaultSource, 0}} {
		e := entries[i]
		if e.Name != want.name || *e.Value != want.value || e.Source != want.source || len(e.Synonyms) != want.synonyms {
			t.Errorf("%+v, want %+v", e, want)
		}
	}
	if _, err := Group.Describe(map[string]string{"share.delivery.count.limit": "many"}, nil); err == nil {
		t.Error("a stored value that does not parse is described")
	}
}
