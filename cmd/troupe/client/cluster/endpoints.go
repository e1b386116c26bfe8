package cluster

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/option"
)

// endpoint is a node of the cluster.
type endpoint struct {
	ID     int32   `json:"id"`
	Host   string  `json:"host"`
	Port   int32   `json:"port"`
	Rack   *string `json:"rack"`
	Fenced bool    `json:"fenced"`
	Type   string  `json:"endpointType"`
}

func (c *command) list(ctx context.Context, client *connection.Client, fs *pflag.FlagSet, s option.Streams) error {
	resp, err := connection.Nodes(ctx, client, "listNodes", fs.Changed("include-fenced-brokers"))
	// As with unregister, a cluster that is too old is told on standard output and ends with 0.
	if connection.Unsupported(err) {
		fmt.Fprintln(s.Out, err)
		return nil
	}
	if err != nil {
		return qualified(err)
	}
	kind := "broker"
	if c.controllers.Given() {
		kind = "controller"
	}
	slices.SortFunc(resp.Brokers, func(a, b kmsg.DescribeClusterResponseBroker) int { return int(a.NodeID) - int(b.NodeID) })
	endpoints := []endpoint{}
	for _, b := range resp.Brokers {
		endpoints = append(endpoints, endpoint{b.NodeID, b.Host, b.Port, b.Rack, b.IsFenced, kind})
	}
	if option.JSON(fs) {
		return option.WriteJSON(s, endpoints)
	}
	printEndpoints(s.Out, endpoints, c.controllers.Given())
	return nil
}

// Widths of columns whose cells are all absent.
const (
	noHosts = 100
	noRacks = 10
)

// printEndpoints writes the script's table; controllers have no state.
func printEndpoints(w io.Writer, endpoints []endpoint, controllers bool) {
	hostWidth, rackWidth := 0, 0
	for _, e := range endpoints {
		hostWidth = max(hostWidth, len(e.Host))
		if e.Rack != nil {
			rackWidth = max(rackWidth, len(*e.Rack))
		}
	}
	if hostWidth == 0 {
		hostWidth = noHosts
	}
	if rackWidth == 0 {
		rackWidth = noRacks
	}
	// Cells are padded to the right edge too: the script's lines end in blanks, and comparing them must not fail there.
	row := func(id, host, port, rack, state, kind string) {
		fmt.Fprintf(w, "%-10s %-*s %-10s %-*s ", id, hostWidth, host, port, rackWidth, rack)
		if !controllers {
			fmt.Fprintf(w, "%-10s ", state)
		}
		fmt.Fprintf(w, "%-15s\n", kind)
	}
	row("ID", "HOST", "PORT", "RACK", "STATE", "ENDPOINT_TYPE")
	for _, e := range endpoints {
		rack, state := "null", "unfenced"
		if e.Rack != nil {
			rack = *e.Rack
		}
		if e.Fenced {
			state = "fenced"
		}
		row(fmt.Sprint(e.ID), e.Host, fmt.Sprint(e.Port), rack, state, e.Type)
	}
}
