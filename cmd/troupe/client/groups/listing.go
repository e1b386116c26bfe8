package groups

import (
	"context"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
)

// Listing is a group as its coordinator lists it.
type Listing struct {
	Group    string `json:"group"`
	Type     string `json:"type"`
	Protocol string `json:"protocol"`
	State    string `json:"state"`
}

// typeNames are the kinds of group in the spelling that Kafka's scripts print (KIP-848, KIP-932, KIP-1071). Coordinators
// answer in lower case.
var typeNames = []string{"Classic", "Consumer", "Share", "Streams"}

// TypeName spells a type as the scripts do, whatever its case; "" when there is no such type.
func TypeName(s string) string {
	for _, name := range typeNames {
		if strings.EqualFold(name, s) {
			return name
		}
	}
	return ""
}

// List asks every broker for the groups it coordinates (16), of the given states and types; none of either is all.
// They come in the order in which the script's hash map has them.
func List(ctx context.Context, client *connection.Client, states, types []string) ([]Listing, error) {
	req := kmsg.NewPtrListGroupsRequest()
	req.StatesFilter, req.TypesFilter = states, types
	resp, err := connection.Ask(ctx, client, "listGroups", req.RequestWith)
	if err != nil {
		return nil, err
	}
	if err := kafkatext.Answer(resp.ErrorCode, nil); err != nil {
		return nil, err
	}
	byID := map[string]Listing{}
	ids := []string{}
	for _, g := range resp.Groups {
		// While a coordinator moves two brokers may list one group.
		if _, again := byID[g.Group]; !again {
			ids = append(ids, g.Group)
		}
		byID[g.Group] = Listing{Group: g.Group, Type: TypeName(g.GroupType), Protocol: g.ProtocolType, State: g.GroupState}
	}
	found := make([]Listing, 0, len(ids))
	for _, id := range kafkatext.HashOrder(ids, 0) {
		found = append(found, byID[id])
	}
	return found, nil
}

// ForConsumers keeps the groups of consumers: "" is the protocol of a group that only ever committed offsets.
func ForConsumers(all []Listing) []Listing {
	kept := []Listing{}
	for _, g := range all {
		if g.Protocol == "" || g.Protocol == "consumer" {
			kept = append(kept, g)
		}
	}
	return kept
}
