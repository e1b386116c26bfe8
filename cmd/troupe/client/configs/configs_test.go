package configs

import (
	"maps"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/kafkatext"
)

func TestBracketsHoldValuesWithCommas(t *testing.T) {
	for text, want := range map[string]kafkatext.Properties{
		"a=1":             {"a": "1"},
		"a=1,b=[x,y],c=3": {"a": "1", "b": "x,y", "c": "3"},
		"a=,b = 2 ":       {"a": "", "b": "2"},
		"SCRAM-SHA-256=[iterations=8192,password=p]": {"SCRAM-SHA-256": "iterations=8192,password=p"},
	} {
		if got, err := parsePairs(text); err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

// The line is that of kafka-configs --describe 4.3.1.
func TestAConfigIsShownWithWhereItComesFrom(t *testing.T) {
	value, below := "5000", "604800000"
	e := entry{Name: "retention.ms", Value: &value, Synonyms: []synonym{
		{sources[kmsg.ConfigSourceDynamicTopicConfig], "retention.ms", &value}, {sources[kmsg.ConfigSourceDefaultConfig], "log.retention.ms", &below},
	}}
	want := "retention.ms=5000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=5000, DEFAULT_CONFIG:log.retention.ms=604800000}"
	if e.String() != want {
		t.Errorf("\n got %s\nwant %s", e, want)
	}
	secret := entry{Name: "ssl.key.password", Sensitive: true}
	if secret.String() != "ssl.key.password=null sensitive=true synonyms={}" {
		t.Errorf("got %s", secret)
	}
}

// The line is that of kafka-configs --describe 4.3.1.
func TestQuotasAreShownWithTheirEntity(t *testing.T) {
	client := "cc"
	q := quota{
		[]kmsg.DescribeClientQuotasResponseEntryEntity{{Type: "client-id", Name: &client}, {Type: "user"}},
		[]kmsg.DescribeClientQuotasResponseEntryValue{{Key: "consumer_byte_rate", Value: 1e10}, {Key: "request_percentage", Value: 50}},
	}
	want := "Quota configs for the default user-principal, client-id 'cc' are consumer_byte_rate=1.0E10, request_percentage=50.0"
	if q.String() != want {
		t.Errorf("\n got %s\nwant %s", q, want)
	}
}

func TestATopicNameIsRefusedBeforeItIsAskedFor(t *testing.T) {
	for name, want := range map[string]string{
		"":    "Topic name is invalid: the empty string is not allowed",
		"..":  "Topic name is invalid: '..' is not allowed",
		"a/b": "Topic name is invalid: 'a/b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'",
	} {
		if err := validateTopic(name); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := validateTopic(strings.Repeat("a", 249)); err != nil {
		t.Errorf("249 characters: %v", err)
	}
	if err := validateTopic(strings.Repeat("a", 250)); err == nil {
		t.Error("250 characters were taken")
	}
}

func TestAPasswordIsSaltedAndNotSent(t *testing.T) {
	up, err := newCredential("u", "SCRAM-SHA-512", "password=secret")
	if err != nil {
		t.Fatal(err)
	}
	if up.Iterations != 4096 || len(up.SaltedPassword) != 64 || up.Mechanism != 2 || strings.Contains(string(up.SaltedPassword), "secret") {
		t.Errorf("got %+v", up)
	}
}
