// Package logdirs is kafka-log-dirs: what the log directories of brokers hold.
//
// Requests: DescribeCluster (60) for the brokers there are, then DescribeLogDirs (35) to each that was asked for.
package logdirs

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/option"
)

type command struct {
	conn            connection.Options
	topics, brokers option.Text
}

// Command makes the command.
func Command(s option.Streams) *cobra.Command {
	return option.Command("log-dirs", "Show what log directories hold", s, &command{})
}

func (c *command) Define(fs *pflag.FlagSet) {
	c.conn.Define(fs)
	fs.Bool("describe", false, "show the directories")
	option.Var(fs, &c.topics, "topic-list", "T1,T2", "topics; all when left out")
	option.Var(fs, &c.brokers, "broker-list", "1,2", "brokers; all when left out")
}

func (c *command) Run(ctx context.Context, fs *pflag.FlagSet, s option.Streams) error {
	if err := option.Require(fs, "bootstrap-server", "describe"); err != nil {
		return err
	}
	topics, err := words(&c.topics)
	if err != nil {
		return err
	}
	texts, err := words(&c.brokers)
	if err != nil {
		return err
	}
	var asked []int32
	for _, text := range texts {
		id, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return option.Fail("For input string: %q", text)
		}
		asked = append(asked, int32(id))
	}
	client, err := c.conn.Open("log-dirs-tool", s.Err)
	if err != nil {
		return err
	}
	defer client.Close()
	asked, err = existing(ctx, client, asked)
	if err != nil {
		return err
	}
	if !option.JSON(fs) {
		// These lines go before and after the JSON on standard output: programs that read the script skip them.
		fmt.Fprintln(s.Out, "Querying brokers for log directories information")
	}
	found, err := describe(ctx, client, asked, topics)
	if err != nil {
		return err
	}
	if !option.JSON(fs) {
		fmt.Fprintf(s.Out, "Received log directory information from brokers %s\n", join(asked))
	}
	return option.WriteJSON(s, document{found, 1})
}

// words splits an option at commas and drops what is empty.
func words(t *option.Text) ([]string, error) {
	text, err := t.One()
	return slices.DeleteFunc(strings.Split(text, ","), func(w string) bool { return w == "" }), err
}

// join writes ids as the script prints its sets, apart by commas alone.
func join(ids []int32) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = strconv.Itoa(int(id))
	}
	return strings.Join(texts, ",")
}

// existing gives the brokers that were asked for, or all, ascending; asking for one that is not there is an error.
func existing(ctx context.Context, client *connection.Client, asked []int32) ([]int32, error) {
	resp, err := connection.Nodes(ctx, client, "listNodes", false)
	if err != nil {
		return nil, err
	}
	var there, missing []int32
	for _, b := range resp.Brokers {
		there = append(there, b.NodeID)
	}
	slices.Sort(there)
	slices.Sort(asked)
	asked = slices.Compact(asked)
	for _, id := range asked {
		if !slices.Contains(there, id) {
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		return nil, option.Fail("ERROR: The given brokers do not exist from --broker-list: %s. Current existent brokers: %s",
			join(missing), join(there))
	}
	if len(asked) == 0 {
		return there, nil
	}
	return asked, nil
}
