package groups

import (
	"bytes"
	"testing"

	"github.com/spf13/pflag"

	"troupe/cmd/troupe/client/option"
)

var all = []Listing{
	{"a", "Classic", "consumer", "Stable"}, {"b", "Classic", "", "Empty"}, {"c", "Consumer", "consumer", "Stable"},
	{"d", "Share", "share", "Stable"}, {"e", "Classic", "connect", "Stable"}, {"f", "Streams", "streams", "Stable"},
}

func selected(t *testing.T, args ...string) (string, error) {
	t.Helper()
	fs := pflag.NewFlagSet("groups", pflag.ContinueOnError)
	c := &command{}
	c.Define(fs)
	if err := fs.Parse(option.Normalize(fs, append([]string{"--bootstrap-server", "b:1"}, args...))); err != nil {
		t.Fatal(err)
	}
	wanted, err := c.filter(fs)
	if err != nil {
		return "", err
	}
	ids := ""
	for _, g := range all {
		if wanted(g) {
			ids += g.Group
		}
	}
	return ids, nil
}

func TestFiltersSelectByTypeAndProtocol(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "abcdef"},
		{[]string{"--consumer"}, "abc"},
		{[]string{"--share"}, "d"},
		{[]string{"--streams"}, "f"},
		{[]string{"--group-type", "classic"}, "abe"},
		{[]string{"--protocol", "consumer"}, "ac"},
		{[]string{"--group-type", "CLASSIC", "--protocol", "connect"}, "e"},
	} {
		if got, err := selected(t, append([]string{"--list"}, c.args...)...); err != nil || got != c.want {
			t.Errorf("%v: %s, %v", c.args, got, err)
		}
	}
}

// The lines are those of kafka-groups of 4.3.1.
func TestFiltersThatExcludeOneAnotherAreRefused(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "Command must include exactly one action: --list."},
		{[]string{"--list", "--group-type", "bogus"}, "--group-type must be a valid group type."},
		{[]string{"--list", "--share", "--consumer"}, `Option "[consumer]" can't be used with option "[share]"`},
	} {
		if _, err := selected(t, c.args...); err == nil || err.Error() != c.want {
			t.Errorf("%v: %v, want %s", c.args, err, c.want)
		}
	}
}

func TestGroupsAreATableWithABlankBehindEachRow(t *testing.T) {
	var out bytes.Buffer
	print(&out, []Listing{{"g-active", "Classic", "consumer", "Stable"}})
	want := "GROUP                TYPE                 PROTOCOL            \n" +
		"g-active             Classic              consumer             \n"
	if out.String() != want {
		t.Errorf("got\n%q\nwant\n%q", out.String(), want)
	}
}
