package configs

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
)

// describe shows quotas, or configs of resources. Addresses are the one kind of quota entity without credentials.
func (c *command) describe(ctx context.Context, types, names []string) error {
	switch types[0] {
	case users, clients:
		return c.describeQuotas(ctx, types, names, true)
	case ips:
		return c.describeQuotas(ctx, types, names, false)
	}
	return c.describeResources(ctx, types[0], names)
}

// described is an entity in -o json.
type described struct {
	EntityType string  `json:"entityType"`
	EntityName string  `json:"entityName"` // "": the default
	Configs    []entry `json:"configs"`
}

func (c *command) describeResources(ctx context.Context, entityType string, names []string) error {
	all := c.fs.Changed("all")
	if len(names) > 0 {
		names = names[:1]
	} else {
		var err error
		if names, err = c.existing(ctx, entityType, true); err != nil {
			return err
		}
		if entityType == brokers || entityType == loggers {
			names = append(names, "")
		}
	}
	// A broker answers for a topic or group that was never created with nothing or with defaults; the script looks first.
	if named := len(names) == 1; named && !all {
		missing, err := c.missing(ctx, entityType, names[0])
		if err != nil {
			return err
		}
		if missing {
			fmt.Fprintf(c.streams.Out, "The %s '%s' doesn't exist and doesn't have dynamic config.\n",
				strings.TrimSuffix(entityType, "s"), names[0])
			return nil
		}
	}
	shown := []described{}
	for _, name := range names {
		if !option.JSON(c.fs) {
			c.heading(entityType, name, all)
		}
		entries, err := c.fetch(ctx, entityType, name, all)
		if err != nil {
			return err
		}
		if option.JSON(c.fs) {
			shown = append(shown, described{entityType, name, entries})
			continue
		}
		for _, e := range entries {
			fmt.Fprintf(c.streams.Out, "  %s\n", e)
		}
	}
	if option.JSON(c.fs) {
		return option.WriteJSON(c.streams, shown)
	}
	return nil
}

// heading is the line before an entity's configs. The singular is the plural without its last letter.
func (c *command) heading(entityType, name string, all bool) {
	which := "Dynamic"
	if all {
		which = "All"
	}
	if name == "" {
		fmt.Fprintf(c.streams.Out, "Default configs for %s in the cluster are:\n", entityType)
		return
	}
	fmt.Fprintf(c.streams.Out, "%s configs for %s %s are:\n", which, entityType[:len(entityType)-1], name)
}

// missing tells whether a named entity does not exist.
func (c *command) missing(ctx context.Context, entityType, name string) (bool, error) {
	if entityType == topics {
		if err := validateTopic(name); err != nil {
			return false, err
		}
	}
	// The default entity of brokers exists always.
	if name == "" && (entityType == brokers || entityType == loggers) {
		return false, nil
	}
	names, err := c.existing(ctx, entityType, false)
	return !slices.Contains(names, name), err
}

// existing lists the entities of a type, in the order the script goes through them if ordered.
func (c *command) existing(ctx context.Context, entityType string, ordered bool) ([]string, error) {
	switch entityType {
	case clientMetrics:
		return c.listResources(ctx, kmsg.ConfigResourceTypeClientMetrics)
	case groups:
		return c.listResources(ctx, kmsg.ConfigResourceTypeGroupConfig)
	case topics:
		names, err := c.topicNames(ctx)
		if ordered {
			names = kafkatext.HashOrder(names, 0)
		}
		return names, err
	}
	return c.nodeIDs(ctx)
}

// topicNames lists all topics, internal ones too.
func (c *command) topicNames(ctx context.Context) ([]string, error) {
	meta, err := connection.Ask(ctx, c.admin, "listTopics", kmsg.NewPtrMetadataRequest().RequestWith)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, t := range meta.Topics {
		names = append(names, *t.Topic)
	}
	return names, nil
}

// nodeIDs gives the brokers, or the controllers when those are asked.
func (c *command) nodeIDs(ctx context.Context) ([]string, error) {
	resp, err := connection.Nodes(ctx, c.admin, "describeCluster", false)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(resp.Brokers, func(a, b kmsg.DescribeClusterResponseBroker) int { return int(a.NodeID) - int(b.NodeID) })
	var names []string
	for _, b := range resp.Brokers {
		names = append(names, strconv.Itoa(int(b.NodeID)))
	}
	return names, nil
}

// listResources asks for the names that have configs (ListConfigResources, KIP-1142), and for groups the existing ones.
func (c *command) listResources(ctx context.Context, kind kmsg.ConfigResourceType) ([]string, error) {
	var names []string
	if kind == kmsg.ConfigResourceTypeGroupConfig {
		listed, err := connection.Ask(ctx, c.admin, "listGroups", kmsg.NewPtrListGroupsRequest().RequestWith)
		if err != nil {
			return nil, err
		}
		for _, g := range listed.Groups {
			names = append(names, g.Group)
		}
	}
	req := kmsg.NewPtrListConfigResourcesRequest()
	req.ResourceTypes = []int8{int8(kind)}
	resp, err := connection.Ask(ctx, c.admin, "listConfigResources", req.RequestWith)
	// Groups that exist but have no configs are described, too; a cluster without the request tells the listed ones.
	if kind == kmsg.ConfigResourceTypeGroupConfig && connection.Unsupported(err) {
		return names, nil
	}
	if err != nil {
		return nil, err
	}
	if err := kafkatext.Answer(resp.ErrorCode, nil); err != nil {
		return nil, err
	}
	for _, r := range resp.ConfigResources {
		if !slices.Contains(names, r.Name) {
			names = append(names, r.Name)
		}
	}
	return names, nil
}
