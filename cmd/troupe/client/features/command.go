// Package features is kafka-features: the finalized levels of features, and changing them.
//
// Requests: ApiVersions (18) from version 3 on, which carries features (KIP-584), and UpdateFeatures (57). The mappings of
// releases and the dependencies of levels are this program's own tables, of 4.3.1.
package features

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/level"
	"troupe/cmd/troupe/client/option"
)

// misuse is how the script says that its command line is wrong.
func misuse(text string) error {
	return option.Fail("Command line error: %s. Type --help for help.", text)
}

// shared are the options before the command.
type shared struct{ servers, controllers, config option.Text }

func (o *shared) define(fs *pflag.FlagSet) {
	option.Var(fs, &o.servers, "bootstrap-server", "HOST:PORT,...", "brokers to connect to first")
	option.Var(fs, &o.controllers, "bootstrap-controller", "HOST:PORT,...", "controllers to connect to instead")
	option.Var(fs, &o.config, "command-config", "FILE", "property file for the client")
}

func (o *shared) open(s option.Streams) (*connection.Client, error) {
	props := kafkatext.Properties{}
	if o.config.Given() {
		var err error
		if props, err = kafkatext.Load(o.config.Last()); err != nil {
			return nil, err
		}
	}
	switch {
	case o.servers.Given() && o.controllers.Given():
		return nil, misuse("argument --bootstrap-controller: not allowed with argument --bootstrap-server")
	case o.controllers.Given():
		return connection.OpenControllers(o.controllers.Last(), props, "adminclient-1", s.Err)
	case o.servers.Given():
		return connection.Open(o.servers.Last(), props, "adminclient-1", s.Err)
	}
	// Not the parser's complaint, since either option alone would do and neither is required.
	return nil, misuse("You must specify either --bootstrap-controller or --bootstrap-server.")
}

// Command makes the command.
func Command(s option.Streams) *cobra.Command {
	o := &shared{}
	change := func(verb, past string) *update { return &update{shared: o, verb: verb, past: past} }
	return option.Group("features", "Show or change the levels of features", o.define, misuse,
		option.Subcommand("describe", "Show supported and finalized levels", s, &describe{shared: o}),
		option.Subcommand("upgrade", "Raise features", s, change("upgrade", "upgraded")),
		option.Subcommand("downgrade", "Lower features", s, change("downgrade", "downgraded")),
		option.Subcommand("disable", "Set features to level 0", s, change("disable", "disabled")),
		Mapping(s),
		Dependencies(s),
	)
}

// Mapping makes the command version-mapping, which kafka-storage has too.
func Mapping(s option.Streams) *cobra.Command {
	return option.Subcommand("version-mapping", "Show the levels that a release sets", s, &mapping{})
}

// Dependencies makes the command feature-dependencies, likewise.
func Dependencies(s option.Streams) *cobra.Command {
	return option.Subcommand("feature-dependencies", "Show what feature levels need", s, &dependencies{})
}

// mapping is the command version-mapping.
type mapping struct{ release option.Text }

func (m *mapping) Define(fs *pflag.FlagSet) {
	option.Var(fs, &m.release, "release-version", "VERSION", "release; the newest when left out")
}

// Complain implements option.Complainer.
func (m *mapping) Complain(err error) error { return misuse(option.ArgumentError(err).Error()) }

func (m *mapping) Run(_ context.Context, fs *pflag.FlagSet, s option.Streams) error {
	name := level.Newest().Name
	if m.release.Given() {
		name = m.release.Last()
	}
	r, err := level.Of(name)
	if err != nil {
		return err
	}
	return printMapping(fs, s, name, r)
}
