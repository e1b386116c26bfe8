package features

import (
	"context"
	"fmt"
	"sort"
	"strconv"

	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/level"
	"troupe/cmd/troupe/client/option"
)

// describe is the command describe.
type describe struct {
	shared *shared
	node   option.Text
}

func (d *describe) Define(fs *pflag.FlagSet) {
	option.Var(fs, &d.node, "node-id", "ID", "node to ask; any when left out")
}

// Complain implements option.Complainer.
func (d *describe) Complain(err error) error { return misuse(option.ArgumentError(err).Error()) }

// described is a line of the output.
type described struct {
	Feature   string `json:"feature"`
	Min       int16  `json:"supportedMinVersion"`
	Max       int16  `json:"supportedMaxVersion"`
	Finalized int16  `json:"finalizedVersionLevel"`
	Epoch     int64  `json:"epoch"` // -1: none
}

func (d *describe) Run(ctx context.Context, fs *pflag.FlagSet, s option.Streams) error {
	id, err := d.node.Int(32, -1)
	if err != nil {
		return misuse(fmt.Sprintf("argument --node-id: could not convert '%s' to Integer (For input string: \"%s\")", d.node.Last(), d.node.Last()))
	}
	if d.node.Given() && id < 0 {
		return option.Fail("Invalid node id %d: must be non-negative.", id)
	}
	client, err := d.shared.open(s)
	if err != nil {
		return err
	}
	defer client.Close()
	// Any node answers: finalized levels are those of the cluster's metadata. What is supported is that node's own.
	to := client.SeedBrokers()[0]
	if d.node.Given() {
		to = client.Broker(int(id))
	}
	resp, err := connection.AskNode(ctx, client, to, "describeFeatures", connection.NewApiVersions().RequestWith)
	if err == nil {
		err = kafkatext.Answer(resp.ErrorCode, nil)
	}
	if err != nil {
		return err
	}
	found := levelsOf(resp)
	if option.JSON(fs) {
		return option.WriteJSON(s, found)
	}
	for _, f := range found {
		fmt.Fprintln(s.Out, f)
	}
	return nil
}

// levelsOf pairs what the node supports with what is finalized. A feature that is not finalized is at level 0 (KIP-584).
func levelsOf(resp *kmsg.ApiVersionsResponse) []described {
	finalized := map[string]int16{}
	for _, f := range resp.FinalizedFeatures {
		finalized[f.Name] = f.MaxVersionLevel
	}
	found := []described{}
	for _, f := range resp.SupportedFeatures {
		found = append(found, described{f.Name, f.MinVersion, f.MaxVersion, finalized[f.Name], resp.FinalizedFeaturesEpoch})
	}
	sort.Slice(found, func(i, j int) bool { return found[i].Feature < found[j].Feature })
	return found
}

// String gives the script's line.
func (d described) String() string {
	epoch := "-"
	if d.Epoch >= 0 {
		epoch = strconv.FormatInt(d.Epoch, 10)
	}
	return fmt.Sprintf("Feature: %-40s  SupportedMinVersion: %-15s  SupportedMaxVersion: %-15s  FinalizedVersionLevel: %-15s  Epoch: %s",
		d.Feature, level.Text(d.Feature, d.Min), level.Text(d.Feature, d.Max), level.Text(d.Feature, d.Finalized), epoch)
}
