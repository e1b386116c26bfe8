package main

import (
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"
	"time"
)

// version tells what this binary was built from, by what Go recorded in it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok { // only a linker that is not Go's leaves it out
		return "unreleased, commit unknown"
	}
	return describe(info)
}

// pseudo is the version that Go gives a commit without a tag: v0.0.0-20260102030405-0123456789ab, the time being UTC.
var pseudo = regexp.MustCompile(`[-.](\d{14})-([0-9a-f]{12})(?:\+|$)`)

// describe gives version, commit and date. What Go records differs with the command: a build in a clone has them all, go
// install MODULE@VERSION has only a version, which holds commit and date unless it is a tag, and go run has nothing.
func describe(info *debug.BuildInfo) string {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	name, commit, date := info.Main.Version, settings["vcs.revision"], settings["vcs.time"]
	if m := pseudo.FindStringSubmatch(name); m != nil && commit == "" {
		commit = m[2]
		if at, err := time.Parse("20060102150405", m[1]); err == nil {
			date = at.Format(time.RFC3339)
		}
	}
	var text strings.Builder
	switch untold := name == "" || name == "(devel)"; {
	case untold && commit == "":
		text.WriteString("unreleased, commit not recorded (go run records none, go build in a clone does)")
	case untold:
		text.WriteString("unreleased")
	default: // a tag says it all
		text.WriteString(name)
	}
	if commit != "" {
		fmt.Fprintf(&text, ", commit %s", commit)
	}
	if settings["vcs.modified"] == "true" {
		text.WriteString(" with changes")
	}
	if date != "" {
		fmt.Fprintf(&text, " of %s", date)
	}
	return fmt.Sprintf("%s, %s", text.String(), info.GoVersion)
}
