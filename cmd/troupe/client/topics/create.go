package topics

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
	"troupe/codec/kerr"
)

// create makes one topic. The script checks the counts before it asks the broker, which would refuse them in other words.
func (c *command) create(ctx context.Context) error {
	name, err := c.topic.One()
	if err != nil {
		return err
	}
	topic, err := c.newTopic(name)
	if err != nil {
		return err
	}
	// JMX names of metrics turn both into the same character.
	if strings.ContainsAny(name, "._") && !option.JSON(c.fs) {
		fmt.Fprintln(c.streams.Out, "WARNING: Due to limitations in metric names, topics with a period ('.') or "+
			"underscore ('_') could collide. To avoid issues it is best to use either, but not both.")
	}
	if topic.ReplicationFactor != -1 && topic.ReplicationFactor < 1 {
		return fmt.Errorf("The replication factor must be between 1 and %d inclusive", math.MaxInt16)
	}
	if topic.NumPartitions != -1 && topic.NumPartitions < 1 {
		return errors.New("The partitions must be greater than 0")
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = int32(c.client.Timeout.Milliseconds())
	req.Topics = append(req.Topics, topic)
	resp, err := connection.Ask(ctx, c.client, "createTopics", req.RequestWith)
	if err != nil {
		return err
	}
	for _, t := range resp.Topics {
		if kerr.Code(t.ErrorCode) == kerr.TopicAlreadyExists && c.has("if-not-exists") {
			return nil
		}
		if err := kafkatext.Answer(t.ErrorCode, t.ErrorMessage); err != nil {
			return err
		}
		if option.JSON(c.fs) {
			return option.WriteJSON(c.streams, struct {
				Topic   string `json:"topic"`
				TopicID string `json:"topicId"`
			}{t.Topic, uuid(t.TopicID)})
		}
	}
	fmt.Fprintf(c.streams.Out, "Created topic %s.\n", name)
	return nil
}

// newTopic reads the options that describe the topic; counts that are not given are -1, the cluster's default.
func (c *command) newTopic(name string) (kmsg.CreateTopicsRequestTopic, error) {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic = name
	partitions, err := c.partitions.Int(32, -1)
	if err != nil {
		return t, err
	}
	factor, err := c.replicationFactor.Int(32, -1)
	if err != nil {
		return t, err
	}
	t.NumPartitions, t.ReplicationFactor = int32(partitions), int16(min(max(factor, math.MinInt16), math.MaxInt16))
	// Counts that were typed must not pass for "not given", nor may a factor wrap.
	if c.has("partitions") && partitions < 1 {
		t.NumPartitions = 0
	}
	if c.has("replication-factor") && (factor < 1 || factor > math.MaxInt16) {
		t.ReplicationFactor = 0
	}
	assignment, err := c.assignment()
	if err != nil {
		return t, err
	}
	for i, replicas := range assignment {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition, a.Replicas = int32(i), replicas
		t.ReplicaAssignment = append(t.ReplicaAssignment, a)
	}
	t.Configs, err = newConfigs(c.config.All())
	return t, err
}

// assignSign is Java's: blanks round the sign are dropped.
var assignSign = regexp.MustCompile(`\s*=\s*`)

// newConfigs reads key=value pairs; the last value of a key counts.
func newConfigs(pairs []string) ([]kmsg.CreateTopicsRequestTopicConfig, error) {
	values := map[string]string{}
	for _, pair := range pairs {
		parts := assignSign.Split(pair, -1)
		for len(parts) > 0 && parts[len(parts)-1] == "" { // Java's split drops empty parts at the end
			parts = parts[:len(parts)-1]
		}
		if len(parts) != 2 {
			return nil, errors.New(`requirement failed: Invalid topic config: all configs to be added must be in the format "key=val".`)
		}
		values[strings.TrimSpace(parts[0])] = strings.TrimSpace(parts[1])
	}
	var configs []kmsg.CreateTopicsRequestTopicConfig
	// Sorted below, so that the request is the same each time.
	for key, value := range values {
		config := kmsg.NewCreateTopicsRequestTopicConfig()
		config.Name, config.Value = key, &value
		configs = append(configs, config)
	}
	sort.Slice(configs, func(i, j int) bool { return configs[i].Name < configs[j].Name })
	return configs, nil
}

// assignment reads --replica-assignment: partitions apart by commas, replicas by colons.
func (c *command) assignment() ([][]int32, error) {
	text, err := c.replicaAssignment.One()
	if err != nil || text == "" {
		return nil, err
	}
	return parseAssignment(text)
}

// parseAssignment wants as many replicas of each partition as of the first, and no broker twice in one.
func parseAssignment(text string) ([][]int32, error) {
	var all [][]int32
	for i, partition := range strings.Split(strings.TrimRight(text, ","), ",") {
		var replicas []int32
		seen := map[int32]bool{}
		var twice []string
		for _, s := range strings.Split(partition, ":") {
			id, err := strconv.ParseInt(strings.TrimSpace(s), 10, 32)
			if err != nil {
				return nil, fmt.Errorf("For input string: %q", strings.TrimSpace(s))
			}
			// Each repeated broker is named once, in the order they repeat.
			if seen[int32(id)] && !strings.Contains(strings.Join(twice, ",")+",", strconv.Itoa(int(id))+",") {
				twice = append(twice, strconv.Itoa(int(id)))
			}
			seen[int32(id)] = true
			replicas = append(replicas, int32(id))
		}
		if len(twice) > 0 {
			return nil, fmt.Errorf("Partition replica lists may not contain duplicate entries: %s", strings.Join(twice, ","))
		}
		all = append(all, replicas)
		if len(replicas) != len(all[0]) {
			return nil, fmt.Errorf("Partition %d has different replication factor: %s", i, list(replicas, ", ", "[", "]"))
		}
	}
	return all, nil
}
