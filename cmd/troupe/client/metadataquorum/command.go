// Package metadataquorum is kafka-metadata-quorum: how the metadata quorum stands, and changing its voters (KIP-836,
// KIP-853).
//
// Requests: DescribeQuorum (55), DescribeCluster (60) for the cluster's id, AddRaftVoter (80) and RemoveRaftVoter (81).
package metadataquorum

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
)

// script begins each complaint of the parser.
const script = "kafka-metadata-quorum"

func misuse(text string) error { return option.Misuse(script, "%s", text) }

// shared are the options before the command.
type shared struct{ servers, controllers, config option.Text }

func (o *shared) define(fs *pflag.FlagSet) {
	option.Var(fs, &o.servers, "bootstrap-server", "HOST:PORT,...", "brokers to connect to first")
	option.Var(fs, &o.controllers, "bootstrap-controller", "HOST:PORT,...", "controllers to connect to instead")
	option.Var(fs, &o.config, "command-config", "FILE", "property file for the client; for add-controller also that of the controller")
}

// Command makes the command.
func Command(s option.Streams) *cobra.Command {
	o := &shared{}
	return option.Group("metadata-quorum", "Show the metadata quorum, or change its voters", o.define, misuse,
		option.Subcommand("describe", "Show the state of the quorum", s, &describe{shared: o}),
		option.Subcommand("add-controller", "Make a controller a voter", s, &add{shared: o}),
		option.Subcommand("remove-controller", "Make a controller a voter no more", s, &remove{shared: o}),
	)
}

// session is what every command begins with: a client, which fails when it is made or not at all.
type session struct {
	*connection.Client
	props kafkatext.Properties
}

// open checks what the script's parser checks, reads the property file and makes the client. The commands look at their
// own options only afterwards, as the script does.
func (o *shared) open(s option.Streams) (*session, error) {
	switch {
	case o.servers.Given() && o.controllers.Given():
		return nil, misuse("argument --bootstrap-controller: not allowed with argument --bootstrap-server")
	case !o.servers.Given() && !o.controllers.Given():
		return nil, misuse("one of the arguments --bootstrap-server --bootstrap-controller is required")
	}
	props := kafkatext.Properties{}
	if o.config.Given() {
		var err error
		if props, err = kafkatext.Load(o.config.Last()); errors.Is(err, os.ErrNotExist) {
			return nil, option.Fail("Properties file %s does not exists!", o.config.Last())
		} else if err != nil {
			return nil, err
		}
	}
	var client *connection.Client
	var err error
	if o.controllers.Given() {
		client, err = connection.OpenControllers(o.controllers.Last(), props, "adminclient-1", s.Err)
	} else {
		client, err = connection.Open(o.servers.Last(), props, "adminclient-1", s.Err)
	}
	if err != nil {
		return nil, err
	}
	return &session{client, props}, nil
}

// complainer says what is wrong with options in the parser's words.
type complainer struct{}

// Complain implements option.Complainer.
func (complainer) Complain(err error) error { return misuse(option.ArgumentError(err).Error()) }

// told gives an error of the cluster with its Java class, as the exception of the client's future prints it.
func told(ctx context.Context, err error) error {
	var failure *kafkatext.Failure
	switch {
	case ctx.Err() != nil:
		return option.Silent()
	case errors.As(err, &failure):
		return errors.New(failure.Qualified())
	}
	return err
}
