package consume

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/cmd/troupe/client/kafkatext"
)

func printed(t *testing.T, props kafkatext.Properties, records ...*kgo.Record) string {
	t.Helper()
	f, err := newFormatter(props)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	for _, r := range records {
		if err := f.write(w, r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The lines are those that Kafka's console consumer printed of such records.
func TestRecordsAreFormattedAsTheConsoleConsumerDoes(t *testing.T) {
	full := &kgo.Record{
		Partition: 0, Offset: 5, Timestamp: time.UnixMilli(1795974860112), Key: []byte("k1"), Value: []byte("v1"),
		Headers: []kgo.RecordHeader{{Key: "h1", Value: []byte("x")}, {Key: "h2"}},
	}
	empty := &kgo.Record{Offset: 6, Timestamp: time.UnixMilli(1795974860112)}
	for _, c := range []struct {
		props kafkatext.Properties
		want  string
	}{
		{kafkatext.Properties{}, "v1\nnull\n"},
		{kafkatext.Properties{"print.key": "true"}, "k1\tv1\nnull\tnull\n"},
		{kafkatext.Properties{"print.key": "TRUE ", "print.value": "false", "null.literal": "--", "line.separator": ";"}, "k1;--;"},
		{kafkatext.Properties{"print.value": "no"}, ""},
		{
			kafkatext.Properties{"print.timestamp": "true", "print.partition": "true", "print.offset": "true", "print.delivery": "true",
				"print.epoch": "true", "print.headers": "true", "print.key": "true", "headers.separator": "&", "key.separator": " "},
			"CreateTime:1795974860112 Partition:0 Offset:5 Delivery:NOT_PRESENT Epoch:NOT_PRESENT h1:x&h2:null k1 v1\n" +
				"CreateTime:1795974860112 Partition:0 Offset:6 Delivery:NOT_PRESENT Epoch:NOT_PRESENT NO_HEADERS null null\n",
		},
	} {
		if got := printed(t, c.props, full, empty); got != c.want {
			t.Errorf("%v\n got %q\nwant %q", c.props, got, c.want)
		}
	}
}

func TestDeserializersShowNumbers(t *testing.T) {
	for class, c := range map[string]struct {
		bytes []byte
		want  string
	}{
		"org.apache.kafka.common.serialization.IntegerDeserializer": {[]byte{0xff, 0xff, 0xff, 0xfe}, "-2"},
		"LongDeserializer":   {[]byte{0, 0, 0, 0, 0, 0, 1, 0}, "256"},
		"ShortDeserializer":  {[]byte{1, 0}, "256"},
		"DoubleDeserializer": {[]byte{0x40, 0x09, 0x21, 0xfb, 0x54, 0x44, 0x2d, 0x18}, "3.141592653589793"},
		"StringDeserializer": {[]byte{'a', 0xff}, "a\uFFFD"},
	} {
		got := printed(t, kafkatext.Properties{"value.deserializer": class}, &kgo.Record{Value: c.bytes})
		if got != c.want+"\n" {
			t.Errorf("%s: got %q", class, got)
		}
	}
}

func TestAValueOfTheWrongSizeIsAnError(t *testing.T) {
	f, err := newFormatter(kafkatext.Properties{"value.deserializer": "IntegerDeserializer"})
	if err != nil {
		t.Fatal(err)
	}
	err = f.write(bufio.NewWriter(&bytes.Buffer{}), &kgo.Record{Value: []byte("abc")})
	if err == nil || err.Error() != "Size of data received by IntegerDeserializer is not 4" {
		t.Errorf("got %v", err)
	}
}

func TestJSONKeepsNullAndBytesThatAreNoText(t *testing.T) {
	got, err := json.Marshal(toJSON(&kgo.Record{Topic: "t", Offset: 3, Timestamp: time.UnixMilli(7), Value: []byte{0xff}}))
	want := `{"topic":"t","partition":0,"offset":3,"timestamp":7,"key":null,"value":{"base64":"/w=="}}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}

func TestWhatCannotBeReadIsNamed(t *testing.T) {
	for want, e := range map[string]kgo.FetchError{
		"Invalid topics: [a,b]": {Topic: "a,b", Partition: -1, Err: kerr.InvalidTopicException},
		"a: no answer":          {Topic: "a", Partition: -1, Err: errors.New("no answer")},
		"a-0: no answer":        {Topic: "a", Partition: 0, Err: errors.New("no answer")},
		"no answer":             {Err: errors.New("no answer")},
	} {
		if got := trouble(e); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The text is that of Kafka 4.3.1's formatter, which ends no line.
func TestOffsetsAreShownAsKafkasFormatterDoes(t *testing.T) {
	key := append([]byte{0, 1}, "\x00\x01g\x00\x01t\x00\x00\x00\x02"...)
	value := append([]byte{0, 3}, "\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x09"...)
	group := append([]byte{0, 2}, "\x00\x01g"...)
	for title, c := range map[string]struct {
		key, value []byte
		want       string
	}{
		"an offset": {key, value, `{"key":{"type":1,"data":{"group":"g","topic":"t","partition":2}},"value":{"version":3,` +
			`"data":{"offset":7,"leaderEpoch":1,"metadata":"","commitTimestamp":9}}}`},
		"a deletion":             {key, nil, `{"key":{"type":1,"data":{"group":"g","topic":"t","partition":2}},"value":null}`},
		"another kind":           {group, nil, ""},
		"a kind that came later": {[]byte{0, 99}, nil, ""},
		"no key":                 {nil, value, ""},
	} {
		var out bytes.Buffer
		w := bufio.NewWriter(&out)
		err := coordinatorFormatters["OffsetsMessageFormatter"].write(w, &kgo.Record{Key: c.key, Value: c.value})
		if w.Flush(); err != nil || out.String() != c.want {
			t.Errorf("%s: %s, %v", title, out.String(), err)
		}
	}
}
