package features

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"troupe/cmd/troupe/client/level"
	"troupe/cmd/troupe/client/option"
)

// dependencies is the command feature-dependencies.
type dependencies struct{ features option.Text }

func (d *dependencies) Define(fs *pflag.FlagSet) {
	option.Var(fs, &d.features, "feature", "NAME=LEVEL", "feature level, repeatable")
}

// Complain implements option.Complainer.
func (d *dependencies) Complain(err error) error { return misuse(option.ArgumentError(err).Error()) }

// Run tells what each level needs, in the order they were named.
func (d *dependencies) Run(_ context.Context, fs *pflag.FlagSet, s option.Streams) error {
	if !d.features.Given() {
		return misuse("argument --feature is required")
	}
	needs := map[string]map[string]int16{}
	// Levels are looked up in this program's table: the cluster is not asked.
	for _, text := range d.features.All() {
		name, number, err := level.Parse(text)
		if err != nil {
			return err
		}
		least, shown, err := needsOf(name, number)
		if err != nil {
			return err
		}
		if option.JSON(fs) {
			needs[shown] = map[string]int16{}
			if least > 0 {
				needs[shown][level.MetadataVersion] = least
			}
			continue
		}
		if least == 0 {
			fmt.Fprintf(s.Out, "%s has no dependencies.\n", shown)
			continue
		}
		fmt.Fprintf(s.Out, "%s requires:\n    %s=%d (%s)\n", shown, level.MetadataVersion, least, level.Text(level.MetadataVersion, least))
	}
	if option.JSON(fs) {
		return option.WriteJSON(s, needs)
	}
	return nil
}

// needsOf gives the metadata.version that a level needs (0: none), and the level as it is shown.
func needsOf(name string, number int16) (int16, string, error) {
	shown := fmt.Sprintf("%s=%d", name, number)
	// It depends on nothing; others may depend on it.
	if name == level.MetadataVersion {
		text := level.Text(name, number)
		if strings.HasPrefix(text, "UNKNOWN") {
			return 0, "", option.Fail("Unknown metadata.version %d", number)
		}
		return 0, fmt.Sprintf("%s (%s)", shown, text), nil
	}
	for _, f := range level.Known {
		if f.Name != name {
			continue
		}
		for _, l := range f.Levels {
			if l.Number == number {
				return l.Needs, shown, nil
			}
		}
		return 0, "", option.Fail("No feature:%s with feature level %d", name, number)
	}
	return 0, "", option.Fail("Unknown feature: %s", name)
}
