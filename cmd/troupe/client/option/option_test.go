package option

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// parse reads a command line of a tool with a few options.
func parse(line string) (fs *pflag.FlagSet, topic, codec *Text, err error) {
	fs, topic, codec = pflag.NewFlagSet("tool", pflag.ContinueOnError), &Text{}, &Text{}
	Var(fs, topic, "topic", "NAME", "")
	Optional(fs, codec, "compression-codec", "CODEC", "gzip", "")
	fs.Bool("list", false, "")
	err = fs.Parse(Normalize(fs, strings.Fields(line)))
	return fs, topic, codec, err
}

func TestLongOptionsMayHaveOneDash(t *testing.T) {
	fs, topic, _, err := parse("-topic a -list")
	if err != nil || topic.Last() != "a" || !fs.Changed("list") {
		t.Errorf("%v, topic %q, list %t", err, topic.Last(), fs.Changed("list"))
	}
}

func TestAnOptionalValueMayBeApartJoinedOrAbsent(t *testing.T) {
	for line, want := range map[string]string{
		"--compression-codec zstd": "zstd", "--compression-codec=zstd": "zstd", "--compression-codec": "gzip",
		"--compression-codec --list": "gzip", "-compression-codec lz4 --topic a": "lz4",
	} {
		if _, _, codec, err := parse(line); err != nil || codec.Last() != want {
			t.Errorf("%s: %v, %q", line, err, codec.Last())
		}
	}
}

func TestTheHelpShowsThatAValueMayBeLeftOutAndNotWhatStandsForIt(t *testing.T) {
	fs := pflag.NewFlagSet("tool", pflag.ContinueOnError)
	Optional(fs, &Text{}, "state", "STATES", " ", "list the states")
	if got, want := strings.TrimSpace(fs.FlagUsages()), "--state [STATES]   list the states"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAnOptionIsNotTakenForTheValueOfAnother(t *testing.T) {
	_, _, _, err := parse("--topic --list")
	if err == nil || Error(err).Error() != "Option topic requires an argument" {
		t.Errorf("got %v", err)
	}
}

func TestAValueMayBeginWithADash(t *testing.T) {
	if _, topic, _, err := parse("--topic -5"); err != nil || topic.Last() != "-5" {
		t.Errorf("%v, %q", err, topic.Last())
	}
}

func TestASecondValueIsRefusedWhereOneIsAsked(t *testing.T) {
	_, topic, _, err := parse("--topic a --topic b")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := topic.One(); err == nil || err.Error() != "Found multiple arguments for option topic, but you asked for only one" {
		t.Errorf("got %v", err)
	}
	if !slices.Equal(topic.All(), []string{"a", "b"}) {
		t.Errorf("all values: %v", topic.All())
	}
}

func TestWhatFollowsTwoDashesIsLeftAlone(t *testing.T) {
	fs, _, _, err := parse("--list -- -topic a")
	if err != nil || !slices.Equal(fs.Args(), []string{"-topic", "a"}) {
		t.Errorf("%v, %v", err, fs.Args())
	}
}
