package topics

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
)

// list prints the names, one a line; without topics that is one empty line, as from the script.
func (c *command) list(ctx context.Context) error {
	meta, err := c.metadata(ctx)
	if err != nil {
		return err
	}
	names, err := c.names(meta)
	if err != nil {
		return err
	}
	if option.JSON(c.fs) {
		return option.WriteJSON(c.streams, names)
	}
	fmt.Fprintln(c.streams.Out, strings.Join(names, "\n"))
	return nil
}

// metadata asks for all topics.
func (c *command) metadata(ctx context.Context) (*kmsg.MetadataResponse, error) {
	resp, err := connection.Ask(ctx, c.client, "listTopics", kmsg.NewPtrMetadataRequest().RequestWith)
	return resp, err
}

// names gives the topics that --topic and --exclude-internal select, sorted.
func (c *command) names(meta *kmsg.MetadataResponse) ([]string, error) {
	pattern, err := c.topic.One()
	if err != nil {
		return nil, err
	}
	allowed := func(string) bool { return true }
	if c.topic.Given() {
		filter, err := kafkatext.NewTopicFilter(pattern)
		if err != nil {
			return nil, err
		}
		allowed = filter.Matches
	}
	names := []string{}
	for _, t := range meta.Topics {
		// A name is missing only in answers to requests by id.
		if t.Topic == nil || t.IsInternal && c.has("exclude-internal") || !allowed(*t.Topic) {
			continue
		}
		names = append(names, *t.Topic)
	}
	sort.Strings(names)
	return names, nil
}

// expect is names, and fails when --topic selects nothing, unless --if-exists is given.
func (c *command) expect(meta *kmsg.MetadataResponse) ([]string, error) {
	names, err := c.names(meta)
	if err != nil {
		return nil, err
	}
	if topic, _ := c.topic.One(); topic != "" && len(names) == 0 && !c.has("if-exists") {
		return nil, fmt.Errorf("Topic '%s' does not exist as expected", topic)
	}
	return names, nil
}
