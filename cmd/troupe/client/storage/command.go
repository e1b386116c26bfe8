// Package storage is kafka-storage: it formats the log directories of a node, or tells what they are. It reads and writes
// files, and no broker is asked.
//
//	DIR/meta.properties               whose directory it is
//	DIR/bootstrap.checkpoint          the first records of the cluster: the levels of its features
//	DIR/__cluster_metadata-0/
//	  00000000000000000000-0000000000.checkpoint   the first voters, where they may change later (KIP-853)
//
// A directory need not be formatted for Troupe, whose first start makes it; one that is formatted, by this command or by
// Kafka's, is taken as it is.
package storage

import (
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"troupe/cmd/troupe/client/features"
	"troupe/cmd/troupe/client/option"
	"troupe/configs"
	"troupe/internal/model"
)

// script begins each complaint: argparse prints the name of the program.
const script = "kafka-storage"

func misuse(text string) error { return option.Misuse(script, "%s", text) }

// Command makes the command.
func Command(s option.Streams) *cobra.Command {
	return option.Group("storage", "Format log directories, or show what they are", func(*pflag.FlagSet) {}, misuse,
		option.Subcommand("info", "Show what the log directories are", s, &info{}),
		option.Subcommand("format", "Format the log directories", s, &format{}),
		features.Mapping(s),
		features.Dependencies(s),
		option.Subcommand("random-uuid", "Print a random UUID", s, randomUUID{}),
	)
}

// randomUUID has no options.
type randomUUID struct{}

func (randomUUID) Define(*pflag.FlagSet) {}

// Run leaves out ids that begin with a dash, which a command line would take for an option.
func (randomUUID) Run(_ context.Context, fs *pflag.FlagSet, s option.Streams) error {
	for {
		id, err := model.NewUUID(rand.Reader)
		if err != nil {
			return err
		}
		if text := id.String(); !strings.HasPrefix(text, "-") {
			if option.JSON(fs) {
				return option.WriteJSON(s, map[string]string{"uuid": text})
			}
			_, err := fmt.Fprintln(s.Out, text)
			return err
		}
	}
}

// load reads the configuration of the node.
func load(file *option.Text) (*configs.Broker, error) {
	if !file.Given() {
		return nil, misuse("argument --config/-c is required")
	}
	loaded, err := configs.Load(configs.Options{File: file.Last()})
	if err != nil {
		return nil, err
	}
	return &loaded.Broker, nil
}

// directories are all of a node's, sorted.
func directories(b *configs.Broker) []string {
	all := []string{filepath.Clean(b.MetadataDir)}
	for _, d := range b.LogDirs {
		all = append(all, filepath.Clean(d))
	}
	slices.Sort(all)
	return slices.Compact(all)
}
