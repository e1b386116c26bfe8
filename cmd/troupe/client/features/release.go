package features

import (
	"fmt"

	"github.com/spf13/pflag"

	"troupe/cmd/troupe/client/level"
	"troupe/cmd/troupe/client/option"
)

// printMapping shows what a release sets when a cluster is formatted with it (KIP-1022).
func printMapping(fs *pflag.FlagSet, s option.Streams, name string, r level.Release) error {
	if option.JSON(fs) {
		levels := map[string]int16{level.MetadataVersion: r.Level}
		for _, f := range level.Known {
			levels[f.Name] = f.At(r)
		}
		return option.WriteJSON(s, levels)
	}
	fmt.Fprintf(s.Out, "%s=%d (%s)\n", level.MetadataVersion, r.Level, name)
	for _, f := range level.Known {
		fmt.Fprintf(s.Out, "%s=%d\n", f.Name, f.At(r))
	}
	return nil
}
