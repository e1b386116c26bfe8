package consumergroups

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"troupe/cmd/troupe/client/option"
	"troupe/internal/model"
)

func parsed(t *testing.T, args ...string) *command {
	t.Helper()
	fs := pflag.NewFlagSet("consumer-groups", pflag.ContinueOnError)
	c := &command{fs: fs, streams: option.Streams{Out: io.Discard, Err: io.Discard}}
	c.Define(fs)
	fs.StringP("output", "o", "text", "")
	if err := fs.Parse(option.Normalize(fs, args)); err != nil {
		t.Fatal(err)
	}
	return c
}

// The lines are those of Kafka's script; those that list a hash table have one of its orders.
func TestOptionsThatDoNotGoTogetherAreRefused(t *testing.T) {
	const bootstrap = "--bootstrap-server=localhost:9092"
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--list"}, `Missing required argument "[bootstrap-server]"`},
		{[]string{bootstrap}, "Command must include exactly one action: --list, --describe, --delete, --reset-offsets, --delete-offsets, --validate-regex"},
		{[]string{bootstrap, "--describe"}, "Option [describe] takes one of these options: [all-groups], [group]"},
		{[]string{bootstrap, "--describe", "--group", "g", "--members", "--state"}, "Option [describe] takes at most one of these options: [members], [offsets], [state]"},
		{[]string{bootstrap, "--describe", "--group", "g", "--state", "Stable"}, "Option [describe] does not take a value for [state]"},
		{[]string{bootstrap, "--describe", "--all-groups", "--group", "x"}, `Option "[group]" can't be used with option "[all-groups]"`},
		{[]string{bootstrap, "--members", "--list"}, "Option(s) [members] are unavailable given other options on the command line"},
		{[]string{bootstrap, "--delete"}, "Option [delete] takes one of these options: [all-groups], [group]"},
		{[]string{bootstrap, "--delete-offsets", "--group", "g"}, "Option [delete-offsets] takes the following options: [group], [topic]"},
		{[]string{bootstrap, "--reset-offsets", "--group", "g", "--topic", "t", "--dry-run", "--execute", "--to-latest"}, "Option [reset-offsets] only accepts one of [execute] and [dry-run]"},
		{[]string{bootstrap, "--reset-offsets", "--group", "g", "--topic", "t", "--to-latest", "--to-earliest", "--dry-run"}, `Option "[to-earliest]" can't be used with option "[to-latest]"`},
		{[]string{bootstrap, "-describe", "-group", "g", "-verbose"}, ""},
		{[]string{bootstrap, "--list", "--state", "--type"}, ""},
		{[]string{"--validate-regex", "a.*"}, ""},
	} {
		err := parsed(t, c.args...).check()
		if got := text(err); got != c.want {
			t.Errorf("%v: %q, want %q", c.args, got, c.want)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestAResetThatSaysNeitherDryRunNorExecuteIsWarnedOf(t *testing.T) {
	var errs bytes.Buffer
	c := parsed(t, "--bootstrap-server", "b:1", "--reset-offsets", "--group", "g", "--topic", "t", "--to-latest")
	c.streams.Err = &errs
	if err := c.check(); err != nil {
		t.Fatal(err)
	}
	want := "WARN: No action will be performed as the --execute option is missing. In version 5.0, this command will require either " +
		"--dry-run or --execute to be specified. You should add the --dry-run option explicitly if you are scripting this command " +
		"and want to keep the current default behavior without prompting.\n"
	if errs.String() != want {
		t.Errorf("got %q", errs.String())
	}
}

func TestStatesAndTypesAreReadInAnyCase(t *testing.T) {
	c := parsed(t, "--list", "--state", "Empty, stable", "--type", "streams")
	got, err := words(&c.state, states, "state", "states")
	if err != nil || len(got) != 2 || got[0] != "Empty" || got[1] != "Stable" {
		t.Errorf("%v, %v", got, err)
	}
	_, err = words(&c.kind, consumerTypes, "types", "types")
	if want := "Invalid types list 'streams'. Valid types are: Classic, Consumer"; text(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestRegularExpressionsAreJudgedAsRE2Does(t *testing.T) {
	for pattern, want := range map[string]string{
		"a.*b": "The regular expression `a.*b` is valid.\n",
		"a(b":  "The regular expression `a(b` is invalid: missing closing ).\n",
	} {
		var out bytes.Buffer
		c := parsed(t, "--validate-regex", pattern)
		c.streams.Out = &out
		if err := c.validateRegex(); err != nil || out.String() != want {
			t.Errorf("%q, %v", out.String(), err)
		}
	}
}

func TestTopicsNameAllPartitionsOrSome(t *testing.T) {
	partitions, whole, err := parseTopics([]string{"cga:0,2", "cgb"})
	if err != nil || named(partitions) != "cga-0,cga-2" || len(whole) != 1 || whole[0] != "cgb" {
		t.Errorf("%v, %v, %v", partitions, whole, err)
	}
	for arg, want := range map[string]string{
		"cga:x": "Invalid partition 'x' specified in topic arg 'cga:x''",
		"cga:":  "Invalid topic arg 'cga:', expected topic name and partitions",
		"a:1:2": "Invalid topic arg 'a:1:2', expected topic name and partitions",
	} {
		if _, _, err := parseTopics([]string{arg}); text(err) != want {
			t.Errorf("%s: %v", arg, err)
		}
	}
}

func TestDatetimesAreUTCUnlessTheySay(t *testing.T) {
	for written, want := range map[string]int64{
		"2020-01-01T00:00:00.000":       1577836800000,
		"2020-01-01T00:00:00.250Z":      1577836800250,
		"2020-01-01T01:00:00.000+01:00": 1577836800000,
		"2019-12-31T19:00:00.000-05":    1577836800000,
	} {
		if at, err := parseDatetime(written); err != nil || at.UnixMilli() != want {
			t.Errorf("%s: %d, %v", written, at.UnixMilli(), err)
		}
	}
	for written, want := range map[string]string{
		"nonsense":            "java.text.ParseException: Error parsing timestamp. It does not contain a 'T' according to ISO8601 format",
		"2020-01-01T00:00:00": `java.text.ParseException: Unparseable date: "2020-01-01T00:00:00Z"`,
	} {
		if _, err := parseDatetime(written); text(err) != want {
			t.Errorf("%s: %v", written, err)
		}
	}
}

// The examples are those of java.time.Duration.parse's documentation, and some that it refuses.
func TestDurationsAreISO8601(t *testing.T) {
	for written, want := range map[string]time.Duration{
		"PT20.345S": 20345 * time.Millisecond, "PT15M": 15 * time.Minute, "PT10H": 10 * time.Hour, "P2D": 48 * time.Hour,
		"P2DT3H4M": 51*time.Hour + 4*time.Minute, "PT-6H3M": -6*time.Hour + 3*time.Minute,
		"-PT6H3M": -6*time.Hour - 3*time.Minute, "-PT-6H+3M": 6*time.Hour - 3*time.Minute, "pt-0.5s": -500 * time.Millisecond,
	} {
		if got, err := parseDuration(written); err != nil || got != want {
			t.Errorf("%s: %s, %v", written, got, err)
		}
	}
	for _, written := range []string{"nonsense", "P", "PT", "P1DT", "P1Y", "PT.5S", "P999999999D"} {
		if _, err := parseDuration(written); !errors.Is(err, errDuration) {
			t.Errorf("%s: %v", written, err)
		}
	}
}

func TestAPlanIsReadAsItWasExported(t *testing.T) {
	all := []target{{"g", "cga", 1, 5}, {"g", "cgb", 0, 10}}
	for oneGroup, want := range map[bool]string{true: "cga,1,5\ncgb,0,10\n\n", false: "g,cga,1,5\ng,cgb,0,10\n\n"} {
		var out bytes.Buffer
		if exportCSV(&out, all, oneGroup); out.String() != want {
			t.Errorf("got %q, want %q", out.String(), want)
		}
		plans, err := parsePlan(out.String(), "g")
		if err != nil || len(plans) != 1 || plans["g"][model.TopicPartition{Topic: "cga", Partition: 1}] != 5 ||
			plans["g"][model.TopicPartition{Topic: "cgb"}] != 10 {
			t.Errorf("%v, %v", plans, err)
		}
	}
	var out bytes.Buffer
	long := strings.Repeat("t", 25)
	exportCSV(&out, []target{{`g,"h"`, long[1:], 0, 1}, {"g", long, 0, 1}}, false)
	if want := `"g,""h""",` + long[1:] + ",0,1\n" + `g,"` + long + `",0,1` + "\n\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	for _, bad := range []string{"cga,1", "cga,x,1", "cga,1,x", "cga,1,2\ng,cga,1,2"} {
		if plans, err := parsePlan(bad, "g"); err == nil {
			t.Errorf("%q was read as %v", bad, plans)
		}
	}
}
