package option

import (
	"strings"

	"github.com/spf13/pflag"
)

// Require fails with the script's line when an option is absent.
func Require(fs *pflag.FlagSet, names ...string) error {
	for _, name := range names {
		if !fs.Changed(name) {
			return Fail(`Missing required argument "[%s]"`, name)
		}
	}
	return nil
}

// Exclude fails when used is given together with one of others.
func Exclude(fs *pflag.FlagSet, used string, others ...string) error {
	if !fs.Changed(used) {
		return nil
	}
	for _, other := range others {
		if fs.Changed(other) {
			return Fail(`Option "[%s]" can't be used with option "[%s]"`, used, other)
		}
	}
	return nil
}

// OneOf fails unless exactly one of names is given, and says the same whether there were none or several.
func OneOf(fs *pflag.FlagSet, names ...string) error {
	if count(fs, names) == 1 {
		return nil
	}
	shown := make([]string, len(names))
	for i, name := range names {
		shown[i] = "[" + name + "]"
	}
	return Fail("Exactly one of the following arguments is required: %s", strings.Join(shown, ", "))
}

// Count tells how many of names are given. A default does not count as given.
func Count(fs *pflag.FlagSet, names ...string) int { return count(fs, names) }

func count(fs *pflag.FlagSet, names []string) int {
	n := 0
	for _, name := range names {
		if fs.Changed(name) {
			n++
		}
	}
	return n
}
