package configs

import (
	"errors"
	"slices"
	"testing"

	"troupe/codec/kerr"
)

// Texts and outcomes are those of Kafka 4.3.1, of a broker with these two directories.
func TestCordonedDirectoriesAreAmongThoseOfTheBroker(t *testing.T) {
	const missing = "requirement failed: All entries in cordoned.log.dirs must be present in log.dirs or log.dir. Missing entries : "
	for _, c := range []struct {
		stored string
		change Change
		want   string // the error; empty for none
	}{
		{"", set("/x"), missing + "/x"},
		{"", set("/x,/a,/y"), missing + "/x, /y"},
		{"", set("/a/"), missing + "/a/"},
		{"", set("*,/a"), "requirement failed: When cordoned.log.dirs is set to *, it must not contain other values"},
		{"", set("/a"), ""},
		{"", set("*"), ""},
		{"", set(""), ""},
		{"", set("/a,/a"), ""},
		{"", set(" /a "), ""},
		{"/a", Change{cordonedKey, Append, ref("/b")}, ""},
		{"/a", Change{cordonedKey, Append, ref("/x")}, missing + "/x"},
		{"/a,/x", Change{cordonedKey, Subtract, ref("/x")}, ""}, // log.dirs was changed meanwhile
		{"/x", Change{cordonedKey, Delete, nil}, ""},
		{"/x", Change{"num.network.threads", Set, ref("4")}, ""},
	} {
		l := Layers{Static: map[string]string{"node.id": "1", "log.dirs": "/a,/b"}, Broker: map[string]string{cordonedKey: c.stored}}
		if c.stored == "" {
			l.Broker = nil
		}
		err := l.CheckCordon([]Change{c.change})
		if code, message := kerr.Of(err); message != c.want || (err != nil) != (code == kerr.InvalidRequest) {
			t.Errorf("%q, then %v: %v, want %q", c.stored, c.change, err, c.want)
		}
	}
}

func set(value string) Change { return Change{cordonedKey, Set, &value} }

func ref(s string) *string { return &s }

func TestCordonedDirectoriesAreResolved(t *testing.T) {
	for _, c := range []struct {
		static, dynamic string
		want            []string
		wrong           bool
	}{
		{"", "", nil, false},
		{"/b", "", []string{"/b"}, false},
		{"*", "", []string{"/a", "/b"}, false},
		{"*", "/a", []string{"/a"}, false},
		{"/x", "", nil, true},
		{"*,/a", "", nil, true},
		{"", "/x,/b", []string{"/b"}, false}, // of a broker with other directories, or of this one when it had others
	} {
		l := Layers{Static: map[string]string{"node.id": "1", "log.dirs": "/a,/b", cordonedKey: c.static}, Broker: map[string]string{}}
		if c.dynamic != "" {
			l.Broker[cordonedKey] = c.dynamic
		}
		b, err := l.Resolve()
		var wrong *SettingError
		if errors.As(err, &wrong) != c.wrong || c.wrong && wrong.Key != cordonedKey || !slices.Equal(b.CordonedDirs, c.want) {
			t.Errorf("%q in the file, %q since: %q, %v; want %q", c.static, c.dynamic, b.CordonedDirs, err, c.want)
		}
	}
}
