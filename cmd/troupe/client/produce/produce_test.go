package produce

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"troupe/cmd/troupe/client/kafkatext"
)

// shown gives the records of an input as text; null is written <null>.
func shown(t *testing.T, props kafkatext.Properties, input string) (string, error) {
	t.Helper()
	r, err := newLineReader(props, strings.NewReader(input), func() {})
	if err != nil {
		return "", err
	}
	text := func(b []byte) string {
		if b == nil {
			return "<null>"
		}
		return string(b)
	}
	var out []string
	for {
		record, err := r.next()
		if errors.Is(err, io.EOF) {
			return strings.Join(out, " | "), nil
		}
		if err != nil {
			return strings.Join(out, " | "), err
		}
		line := text(record.Key) + "=" + text(record.Value)
		for _, h := range record.Headers {
			line += fmt.Sprintf(" %s:%s", h.Key, text(h.Value))
		}
		out = append(out, line)
	}
}

func TestLinesBecomeRecords(t *testing.T) {
	withKey := kafkatext.Properties{"parse.key": "true", "null.marker": "NULL"}
	withAll := kafkatext.Properties{"parse.key": "true", "parse.headers": "true", "null.marker": "NULL"}
	for _, c := range []struct {
		props       kafkatext.Properties
		input, want string
	}{
		{nil, "a\nb\r\nc\rd", "<null>=a | <null>=b | <null>=c | <null>=d"},
		{nil, "a\n\nb\n", "<null>=a | <null>= | <null>=b"},
		{withKey, "k\tv\tw\nNULL\tNULL\n\tv\n", "k=v\tw | <null>=<null> | =v"},
		{withAll, "h1:x,h2:NULL\tk\tv\nNULL\tk\tv\n", "k=v h1:x h2:<null> | k=v"},
		{kafkatext.Properties{"parse.key": "true", "key.separator": "=>"}, "a=>b=>c", "a=b=>c"},
		{kafkatext.Properties{"parse.key": "true", "ignore.error": "true"}, "alone", "<null>=alone"},
		{kafkatext.Properties{"parse.headers": "true", "headers.separator": "[;,]"}, "a:1;b:2,c:3\tv", "<null>=v a:1 b:2 c:3"},
	} {
		if got, err := shown(t, c.props, c.input); err != nil || got != c.want {
			t.Errorf("%v %q\n got %q, %v\nwant %q", c.props, c.input, got, err, c.want)
		}
	}
}

// The texts are those of Kafka's console producer.
func TestALineThatCannotBeReadIsNamed(t *testing.T) {
	for _, c := range []struct {
		props       kafkatext.Properties
		input, want string
	}{
		{kafkatext.Properties{"parse.key": "true"}, "a\tb\nabc", "No key separator found on line number 2: 'abc'"},
		{kafkatext.Properties{"parse.headers": "true"}, "abc", "No headers delimiter found on line number 1: 'abc'"},
		{kafkatext.Properties{"parse.headers": "true"}, "h\tv", "No header key separator found in pair 'h' on line number 1"},
		{kafkatext.Properties{"parse.headers": "true", "null.marker": "N"}, "N:x\tv",
			"Header keys should not be equal to the null marker 'N' as they can't be null"},
		{kafkatext.Properties{"headers.separator": ":"}, "", "headers.separator and headers.key.separator may not be equal"},
	} {
		_, err := shown(t, c.props, c.input)
		if want := "org.apache.kafka.common.KafkaException: " + c.want; err == nil || err.Error() != want {
			t.Errorf("%v %q\n got %v\nwant %s", c.props, c.input, err, want)
		}
	}
}
