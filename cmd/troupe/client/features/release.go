package features

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"troupe/cmd/troupe/client/option"
)

// metadataVersion is the feature that is shown by the name of a release: its levels count up without gaps.
const metadataVersion = "metadata.version"

// newest is the newest release that is stable.
func newest() release {
	for i := len(releases) - 1; ; i-- {
		if releases[i].stable {
			return releases[i]
		}
	}
}

// releaseOf finds a release by its full name, or the newest stable one of a number such as 4.0.
func releaseOf(name string) (release, error) {
	names := make([]string, len(releases))
	for i := len(releases) - 1; i >= 0; i-- {
		r := releases[i]
		number, _, _ := strings.Cut(r.name, "-")
		if r.name == name || r.stable && number == name {
			return r, nil
		}
		names[i] = r.name
	}
	return release{}, option.Fail("Unknown metadata.version '%s'. Supported metadata.version are: %s", name, strings.Join(names, ", "))
}

// levelText shows a level: metadata.version by its release's name.
func levelText(name string, level int16) string {
	if name != metadataVersion {
		return strconv.Itoa(int(level))
	}
	for _, r := range releases {
		if r.level == level {
			return r.name
		}
	}
	return fmt.Sprintf("UNKNOWN %d", level)
}

// levelAt is the level that a release sets for new clusters.
func (f feature) levelAt(r release) int16 {
	var at int16
	for _, l := range f.levels {
		if l.since <= r.level {
			at = l.number
		}
	}
	return at
}

// printMapping shows what a release sets when a cluster is formatted with it (KIP-1022).
func printMapping(fs *pflag.FlagSet, s option.Streams, name string, r release) error {
	if option.JSON(fs) {
		levels := map[string]int16{metadataVersion: r.level}
		for _, f := range known {
			levels[f.name] = f.levelAt(r)
		}
		return option.WriteJSON(s, levels)
	}
	fmt.Fprintf(s.Out, "%s=%d (%s)\n", metadataVersion, r.level, name)
	for _, f := range known {
		fmt.Fprintf(s.Out, "%s=%d\n", f.name, f.levelAt(r))
	}
	return nil
}

// parseLevel reads feature=level.
func parseLevel(text string) (string, int16, error) {
	name, number, ok := strings.Cut(text, "=")
	if !ok {
		return "", 0, option.Fail("Can't parse feature=level string %s: equals sign not found.", text)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 16)
	if err != nil {
		return "", 0, option.Fail("Can't parse feature=level string %s: unable to parse %s as a short.", text, strings.TrimSpace(number))
	}
	return strings.TrimSpace(name), int16(n), nil
}
