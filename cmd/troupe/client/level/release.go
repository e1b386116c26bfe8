package level

import (
	"fmt"
	"strconv"
	"strings"

	"troupe/cmd/troupe/client/option"
)

// MetadataVersion is the feature that is shown by the name of a release: its levels count up without gaps.
const MetadataVersion = "metadata.version"

// Newest is the newest release that is stable.
func Newest() Release {
	for i := len(releases) - 1; ; i-- {
		if releases[i].Stable {
			return releases[i]
		}
	}
}

// Of finds a release by its full name, or the newest stable one of a number such as 4.0.
func Of(name string) (Release, error) {
	names := make([]string, len(releases))
	for i := len(releases) - 1; i >= 0; i-- {
		r := releases[i]
		number, _, _ := strings.Cut(r.Name, "-")
		if r.Name == name || r.Stable && number == name {
			return r, nil
		}
		names[i] = r.Name
	}
	return Release{}, option.Fail("Unknown metadata.version '%s'. Supported metadata.version are: %s", name, strings.Join(names, ", "))
}

// Text shows a level: metadata.version by its release's name.
func Text(name string, level int16) string {
	if name != MetadataVersion {
		return strconv.Itoa(int(level))
	}
	for _, r := range releases {
		if r.Level == level {
			return r.Name
		}
	}
	return fmt.Sprintf("UNKNOWN %d", level)
}

// At is the level that a release sets for new clusters.
func (f Feature) At(r Release) int16 {
	var at int16
	for _, l := range f.Levels {
		if l.Since <= r.Level {
			at = l.Number
		}
	}
	return at
}

// Parse reads feature=level.
func Parse(text string) (string, int16, error) {
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

// Stable is Of among the releases that a cluster may be formatted with.
func Stable(name string) (Release, error) {
	var names []string
	for _, r := range releases {
		if r.Stable {
			names = append(names, r.Name)
		}
	}
	if r, err := Of(name); err == nil && r.Stable {
		return r, nil
	}
	return Release{}, option.Fail("Unknown metadata.version '%s'. Supported metadata.version are: %s", name, strings.Join(names, ", "))
}
