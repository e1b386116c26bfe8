// Package groups is kafka-groups: the groups of all kinds that a cluster has.
//
// Requests: Metadata (3) for the brokers, then ListGroups (16) to each.
//
// The output is a table of group, type and protocol; filters are applied here, as in the script, not by the brokers.
package groups

import (
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/option"
)

// command has one action, --list, which must be named nevertheless.
type command struct {
	conn                connection.Options
	groupType, protocol option.Text
}

// Command makes the command.
func Command(s option.Streams) *cobra.Command {
	return option.Command("groups", "List groups of all types", s, &command{})
}

func (c *command) Define(fs *pflag.FlagSet) {
	c.conn.Define(fs)
	fs.Bool("list", false, "list the groups")
	option.Var(fs, &c.groupType, "group-type", "TYPE", "only groups of this type: classic, consumer, share or streams")
	option.Var(fs, &c.protocol, "protocol", "PROTOCOL", "only groups of this protocol type")
	fs.Bool("consumer", false, "only groups of consumers, of type classic or consumer")
	fs.Bool("share", false, "only share groups")
	fs.Bool("streams", false, "only streams groups")
}

// Run asks for all groups and filters afterwards, like the script: brokers can filter by type, but not by protocol.
func (c *command) Run(ctx context.Context, fs *pflag.FlagSet, s option.Streams) error {
	wanted, err := c.filter(fs)
	if err != nil {
		return err
	}
	client, err := c.conn.Open("adminclient-1", s.Err)
	if err != nil {
		return failed(s, err)
	}
	defer client.Close()
	all, err := List(ctx, client, nil, nil)
	// An interrupt ends the command without a word, as it ends the script.
	if ctx.Err() != nil {
		return err
	}
	if err != nil {
		return failed(s, err)
	}
	found := []Listing{}
	for _, g := range all {
		if wanted(g) {
			found = append(found, g)
		}
	}
	if option.JSON(fs) {
		return option.WriteJSON(s, found)
	}
	print(s.Out, found)
	return nil
}

// failed reports on standard output, as the script does whatever goes wrong behind the reading of options.
func failed(s option.Streams, err error) error {
	fmt.Fprintf(s.Out, "Error while executing groups command : %s\n", err)
	return option.Silent()
}

// filter checks the options in the script's order and gives what they select.
func (c *command) filter(fs *pflag.FlagSet) (func(Listing) bool, error) {
	// jopt-simple checks required options itself, in other words than the scripts' own checks.
	if !fs.Changed("bootstrap-server") {
		return nil, option.Fail("Missing required option(s) [bootstrap-server]")
	}
	if !fs.Changed("list") {
		return nil, option.Fail("Command must include exactly one action: --list.")
	}
	text, err := c.groupType.One()
	if err != nil {
		return nil, err
	}
	kind := TypeName(text)
	if c.groupType.Given() && kind == "" {
		return nil, option.Fail("--group-type must be a valid group type.")
	}
	for _, exclusive := range [][]string{
		{"consumer", "group-type", "protocol", "share", "streams"},
		{"share", "consumer", "group-type", "protocol", "streams"},
		{"streams", "consumer", "group-type", "protocol", "share"},
	} {
		if err := option.Exclude(fs, exclusive[0], exclusive[1:]...); err != nil {
			return nil, err
		}
	}
	protocol, err := c.protocol.One()
	if err != nil {
		return nil, err
	}
	return func(g Listing) bool {
		// Only type and protocol go together.
		return (kind == "" || g.Type == kind) &&
			(!c.protocol.Given() || g.Protocol == protocol) &&
			(!fs.Changed("consumer") || g.Protocol == "consumer" || g.Protocol == "" || g.Type == "Consumer") &&
			(!fs.Changed("share") || g.Type == "Share") &&
			(!fs.Changed("streams") || g.Type == "Streams")
	}, nil
}

// leastWidth is that of each column; the longest text of any of them widens all three.
const leastWidth = 20

// print keeps the blank that the script leaves behind the last column of a row, though not of the header.
//
//	GROUP     TYPE     PROTOCOL
//	payments  Classic  consumer
func print(out io.Writer, found []Listing) {
	width := leastWidth
	for _, g := range found {
		for _, text := range []string{g.Group, g.Type, g.Protocol} {
			width = max(width, utf8.RuneCountInString(text))
		}
	}
	row := func(texts ...string) string {
		for i, text := range texts {
			texts[i] = fmt.Sprintf("%-*s", width, text)
		}
		return strings.Join(texts, " ")
	}
	fmt.Fprintln(out, row("GROUP", "TYPE", "PROTOCOL"))
	for _, g := range found {
		fmt.Fprintln(out, row(g.Group, g.Type, g.Protocol)+" ")
	}
}
