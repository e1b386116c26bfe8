package verifiableproducer

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/cmd/troupe/client/option"
	"troupe/cmd/troupe/client/verifiable"
)

func planned(t *testing.T, line string) (*plan, error) {
	t.Helper()
	fs := pflag.NewFlagSet("verifiable-producer", pflag.ContinueOnError)
	c := &command{}
	c.Define(fs)
	if err := fs.Parse(option.Normalize(fs, strings.Fields(line))); err != nil {
		return nil, c.Complain(err)
	}
	return c.plan(fs, option.Streams{Out: &bytes.Buffer{}})
}

// The complaints are those of kafka-verifiable-producer of 4.3.1, which breaks their lines.
func TestWrongCommandLinesAreAnsweredAsTheScriptAnswersThem(t *testing.T) {
	for line, want := range map[string]string{
		"--topic t":              "one of the arguments --bootstrap-server is required",
		"--bootstrap-server b:1": "argument --topic is required",
		"--bootstrap-server b:1 --topic t --acks 2":                               "argument --acks: invalid choice: '2' (choose from {0,1,-1})",
		"--bootstrap-server b:1 --topic t --max-messages x":                       `argument --max-messages: could not convert 'x' to Integer (For input string: "x")`,
		"--bootstrap-server b:1 --topic t foo":                                    "unrecognized arguments: 'foo'",
		"--bootstrap-server b:1 --topic t --foo":                                  "unrecognized arguments: '--foo'",
		"--bootstrap-server b:1 --topic":                                          "argument --topic: expected one argument",
		"--bootstrap-server b:1 --topic t --command-config /0":                    "/0",
		"--bootstrap-server b:1 --topic t --command-config a --producer.config b": "Options --producer.config and --command-config are mutually exclusive.",
	} {
		if _, err := planned(t, line); err == nil || err.Error() != "verifiable-producer: error: "+want {
			t.Errorf("%s: got %v, want %s", line, err, want)
		}
	}
}

func TestKeysRepeatAndValuesRise(t *testing.T) {
	p, err := planned(t, "--bootstrap-server b:1 --topic t --repeating-keys 2 --value-prefix 7 --message-create-time 1000")
	if err != nil {
		t.Fatal(err)
	}
	w := &producer{plan: p, began: time.Now()}
	got := ""
	for i := range int64(3) {
		r := w.record(i)
		got += string(r.Key) + ":" + string(r.Value) + " "
	}
	if got != "0:7.0 1:7.1 0:7.2 " || w.record(0).Timestamp.UnixMilli() != 1000 {
		t.Errorf("got %s, first at %d", got, w.record(0).Timestamp.UnixMilli())
	}
}

// The lines are the script's, without their times.
func TestEachRecordIsToldOf(t *testing.T) {
	var out bytes.Buffer
	w := &producer{plan: &plan{topic: "t"}, events: verifiable.NewLog(&out)}
	w.done(&kgo.Record{Topic: "t", Value: []byte("3"), Offset: 15}, nil)
	w.done(&kgo.Record{Topic: "t", Key: []byte("0"), Value: []byte("4")}, kerr.MessageTooLarge)
	want := `{"name":"producer_send_success","key":null,"value":"3","offset":15,"topic":"t","partition":0}
{"name":"producer_send_error","topic":"t","key":"0","value":"4","exception":"class org.apache.kafka.common.errors.RecordTooLargeException","message":"The request included a message larger than the max message size the server will accept."}
`
	if got := withoutTimes(t, out.String()); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// withoutTimes takes the timestamp away, which comes first.
func withoutTimes(t *testing.T, lines string) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(lines) {
		head, rest, ok := strings.Cut(line, ",")
		if !ok || !strings.HasPrefix(head, `{"timestamp":`) || !json.Valid([]byte(line)) {
			t.Fatalf("no event: %s", line)
		}
		b.WriteString("{" + rest)
	}
	return b.String()
}
