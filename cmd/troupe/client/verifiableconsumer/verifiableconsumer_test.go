package verifiableconsumer

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/cmd/troupe/client/option"
	"troupe/cmd/troupe/client/verifiable"
)

// The complaints are those of kafka-verifiable-consumer of 4.3.1, which breaks their lines.
func TestWrongCommandLinesAreAnsweredAsTheScriptAnswersThem(t *testing.T) {
	const misused = "verifiable-consumer: error: "
	for line, want := range map[string]string{
		"--group-id g --topic t":              misused + "argument --bootstrap-server is required",
		"--bootstrap-server b:1 --group-id g": misused + "argument --topic is required",
		"--bootstrap-server b:1 --topic t":    misused + "argument --group-id is required",
		"--group-id g":                        misused + "argument --topic is required",
		"--bootstrap-server b:1 --topic t --group-id g --session-timeout x":                              misused + `argument --session-timeout: could not convert 'x' to Integer (For input string: "x")`,
		"--bootstrap-server b:1 --topic t --group-id g --group-protocol consumer --session-timeout 1000": "session.timeout.ms cannot be set when group.protocol=CONSUMER",
		"--bootstrap-server b:1 --topic t --group-id g --session-timeout 100":                            "Heartbeat must be set lower than the session timeout",
	} {
		fs := pflag.NewFlagSet("verifiable-consumer", pflag.ContinueOnError)
		c := &command{}
		c.Define(fs)
		if err := fs.Parse(option.Normalize(fs, strings.Fields(line))); err != nil {
			t.Fatal(err)
		}
		if _, err := c.plan(fs, option.Streams{Out: &bytes.Buffer{}}); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", line, err, want)
		}
	}
}

// The lines are those that the script printed of such a poll, without their times.
func TestNoMoreIsToldAndCommittedThanWasAskedFor(t *testing.T) {
	var out bytes.Buffer
	m := &member{plan: &plan{max: 3, verbose: true}, events: verifiable.NewLog(&out)}
	of := func(number int32, values ...string) kgo.FetchPartition {
		p := kgo.FetchPartition{Partition: number}
		for i, v := range values {
			p.Records = append(p.Records, &kgo.Record{Topic: "vc", Partition: number, Offset: int64(i), Key: []byte(v), Value: []byte(v)})
		}
		return p
	}
	offsets := m.tell(kgo.Fetches{{Topics: []kgo.FetchTopic{{Topic: "vc", Partitions: []kgo.FetchPartition{of(1, "1", "3"), of(0, "0", "2")}}}}})
	want := `{"name":"record_data","key":"1","value":"1","topic":"vc","partition":1,"offset":0}
{"name":"record_data","key":"3","value":"3","topic":"vc","partition":1,"offset":1}
{"name":"record_data","key":"0","value":"0","topic":"vc","partition":0,"offset":0}
{"name":"records_consumed","count":4,"partitions":[{"topic":"vc","partition":1,"count":2,"minOffset":0,"maxOffset":1},{"topic":"vc","partition":0,"count":1,"minOffset":0,"maxOffset":0}]}
`
	if got := regexp.MustCompile(`"timestamp":\d+,`).ReplaceAllString(out.String(), ""); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	if len(offsets) != 2 || offsets[0].Offset != 2 || offsets[1].Offset != 1 {
		t.Errorf("to commit: %+v", offsets)
	}
}
