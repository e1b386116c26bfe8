package main

import (
	"runtime/debug"
	"strings"
	"testing"
)

// What Go 1.26 records was read with "go version -m" from binaries built each way.
func TestTheVersionNamesWhatTheBinaryWasBuiltFrom(t *testing.T) {
	vcs := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{
			{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "a2751a28308b7bb3c147548e229cfabc15b9c02f"},
			{Key: "vcs.time", Value: "2026-11-29T21:25:29Z"}, {Key: "vcs.modified", Value: modified},
		}
	}
	for _, c := range []struct {
		title    string
		version  string
		settings []debug.BuildSetting
		want     string
	}{
		{"go build in a clone", "v0.0.0-20261129212529-a2751a28308b", vcs("false"),
			"v0.0.0-20261129212529-a2751a28308b, commit a2751a28308b7bb3c147548e229cfabc15b9c02f of 2026-11-29T21:25:29Z, go1.26"},
		{"go build in a clone that was changed", "v0.0.0-20261129212529-a2751a28308b+dirty", vcs("true"),
			"v0.0.0-20261129212529-a2751a28308b+dirty, commit a2751a28308b7bb3c147548e229cfabc15b9c02f with changes of 2026-11-29T21:25:29Z, go1.26"},
		{"an older Go, which gives a clone no version", "(devel)", vcs("false"),
			"unreleased, commit a2751a28308b7bb3c147548e229cfabc15b9c02f of 2026-11-29T21:25:29Z, go1.26"},
		{"go install of a commit", "v0.0.0-20261129212529-a2751a28308b", nil,
			"v0.0.0-20261129212529-a2751a28308b, commit a2751a28308b of 2026-11-29T21:25:29Z, go1.26"},
		{"go install of a commit after a tag", "v1.2.4-0.20261129212529-a2751a28308b", nil,
			"v1.2.4-0.20261129212529-a2751a28308b, commit a2751a28308b of 2026-11-29T21:25:29Z, go1.26"},
		{"go install of a release", "v1.2.3", nil, "v1.2.3, go1.26"},
		{"go run", "(devel)", nil, "unreleased, commit not recorded (go run records none, go build in a clone does), go1.26"},
	} {
		info := &debug.BuildInfo{GoVersion: "go1.26", Settings: c.settings}
		info.Main.Version = c.version
		if got := describe(info); got != c.want {
			t.Errorf("%s: %q, want %q", c.title, got, c.want)
		}
	}
}

func TestTheBinaryNeverCallsItselfDevelAlone(t *testing.T) {
	out, _, exit := call("troupe", "--version")
	if exit != 0 || strings.Contains(out, "(devel)") || !strings.Contains(out, "commit") {
		t.Errorf("exit %d, %q", exit, out)
	}
}
