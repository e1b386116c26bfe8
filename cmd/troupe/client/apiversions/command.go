// Package apiversions is kafka-broker-api-versions: which requests brokers take, and in which versions.
//
// Requests: Metadata (3) for the brokers, then ApiVersions (18) to each. One that does not answer is told in its line.
package apiversions

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
)

// command has no options but those of the connection.
type command struct{ conn connection.Options }

// Command has the name of the script without its "kafka-", as all of them do; so the names of links can be undone.
func Command(s option.Streams) *cobra.Command {
	return option.Command("broker-api-versions", "Show the requests and versions that brokers take", s, &command{})
}

func (c *command) Define(fs *pflag.FlagSet) { c.conn.Define(fs) }

// node is a broker and what it answered.
type node struct {
	ID    int32    `json:"id"`
	Host  string   `json:"host"`
	Port  int32    `json:"port"`
	Rack  *string  `json:"rack"`
	APIs  []ranged `json:"apis,omitempty"`
	Error string   `json:"error,omitempty"`
}

// ranged is a request with the versions a broker takes.
type ranged struct {
	Key  int16  `json:"key"`
	Name string `json:"name"`
	Min  int16  `json:"minVersion"`
	Max  int16  `json:"maxVersion"`
}

func (c *command) Run(ctx context.Context, fs *pflag.FlagSet, s option.Streams) error {
	if err := option.Require(fs, "bootstrap-server"); err != nil {
		return err
	}
	client, err := c.conn.Open("admin-1", s.Err)
	if err != nil {
		return err
	}
	defer client.Close()
	req := kmsg.NewPtrMetadataRequest()
	// An empty list asks for no topics (version 1 and later): only the brokers are wanted.
	req.Topics = []kmsg.MetadataRequestTopic{}
	meta, err := connection.Ask(ctx, client, "metadata", req.RequestWith)
	if err != nil {
		return err
	}
	nodes := []node{}
	for _, b := range meta.Brokers {
		n := node{ID: b.NodeID, Host: b.Host, Port: b.Port, Rack: b.Rack}
		n.ask(ctx, client)
		nodes = append(nodes, n)
	}
	if option.JSON(fs) {
		return option.WriteJSON(s, nodes)
	}
	// The script collects the answers in a HashMap by node and prints its iteration order.
	for _, n := range kafkatext.HashOrderBy(nodes, 0, node.hash) {
		if n.Error != "" {
			fmt.Fprintf(s.Out, "%s -> ERROR: %s\n", n, n.Error)
			continue
		}
		fmt.Fprintf(s.Out, "%s -> (\n\t%s\n)\n", n, strings.Join(lines(n.APIs), ",\n\t"))
	}
	return nil
}

// ask asks the broker itself; a failure is part of the output.
func (n *node) ask(ctx context.Context, client *connection.Client) {
	resp, err := connection.AskNode(ctx, client, client.Broker(int(n.ID)), "apiVersions", connection.NewApiVersions().RequestWith)
	if err == nil {
		err = kafkatext.Answer(resp.ErrorCode, nil)
	}
	if err != nil {
		n.Error = err.Error()
		return
	}
	for _, k := range resp.ApiKeys {
		n.APIs = append(n.APIs, ranged{k.ApiKey, nameOf(k.ApiKey), k.MinVersion, k.MaxVersion})
	}
	slices.SortFunc(n.APIs, func(a, b ranged) int { return int(a.Key) - int(b.Key) })
}

// String is Node.toString of the Java client.
func (n node) String() string {
	rack := "null"
	if n.Rack != nil {
		rack = *n.Rack
	}
	return fmt.Sprintf("%s:%d (id: %d rack: %s isFenced: false)", n.Host, n.Port, n.ID, rack)
}

// hash is Node.hashCode, of which the order of the output comes; the last number is that of Boolean.FALSE.
func (n node) hash() int32 {
	h := 31 + kafkatext.StringHash(n.Host)
	h = 31*h + n.ID
	h = 31*h + n.Port
	h *= 31
	if n.Rack != nil {
		h += kafkatext.StringHash(*n.Rack)
	}
	return 31*h + 1237
}

// nameOf names a request; one newer than the table is shown all the same, because the broker does answer it.
func nameOf(key int16) string {
	if a, ok := apis[key]; ok {
		return a.name
	}
	return "UNKNOWN"
}

// lines gives a line for each request the broker takes and for each that clients know and it does not, by key.
func lines(have []ranged) []string {
	byKey := map[int16]string{}
	for _, r := range have {
		byKey[r.Key] = r.line()
	}
	for key, a := range apis {
		if _, ok := byKey[key]; !ok && a.client {
			byKey[key] = fmt.Sprintf("%s(%d): UNSUPPORTED", a.name, key)
		}
	}
	var keys []int16
	for key := range byKey {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	out := make([]string, len(keys))
	for i, key := range keys {
		out[i] = byKey[key]
	}
	return out
}

// line tells the highest version both sides know, by the rule clients choose versions with (KIP-35): the lesser of the
// two maxima, if it is not below either minimum.
func (r ranged) line() string {
	text := fmt.Sprintf("%s(%d): %d to %d", r.Name, r.Key, r.Min, r.Max)
	if r.Min == r.Max {
		text = fmt.Sprintf("%s(%d): %d", r.Name, r.Key, r.Min)
	}
	known, ok := apis[r.Key]
	switch {
	case !ok:
		return text
	case known.latest < r.Min:
		return text + " [unusable: node too new]"
	case r.Max < known.oldest:
		return text + " [unusable: node too old]"
	}
	return fmt.Sprintf("%s [usable: %d]", text, min(known.latest, r.Max))
}
