package offsets

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"troupe/cmd/troupe/client/kafkatext"
	"troupe/internal/model"
)

// special are the timestamps of ListOffsets that stand for a place in the log.
var special = map[string]int64{
	"latest": -1, "earliest": -2, "max-timestamp": -3, "earliest-local": -4, "latest-tiered": -5,
	"earliest-pending-upload": -6,
}

// parseTime reads a timestamp in ms, or a name of one of the negative numbers that ask for something else: earliest and
// latest, the record with the greatest timestamp (KIP-734), and ends of tiered storage (KIP-405, KIP-1005, KIP-1023).
func parseTime(s string) (int64, error) {
	if t, ok := special[s]; ok {
		return t, nil
	}
	t, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("Malformed time argument %s. Please use -1 or latest / -2 or earliest / -3 or max-timestamp / "+
			"-4 or earliest-local / -5 or latest-tiered / -6 or earliest-pending-upload, or a specified long format timestamp", s)
	}
	return t, nil
}

type filter func(model.TopicPartition) bool

// filter reads --topic-partitions, or --topic and --partitions.
func (c *command) filter() (filter, error) {
	if c.topicPartitions.Given() {
		text, err := c.topicPartitions.One()
		if err != nil {
			return nil, err
		}
		return parseRules(text)
	}
	topic, err := c.topic.One()
	if err != nil {
		return nil, err
	}
	// Every topic matches; internal ones are left out elsewhere.
	if !c.topic.Given() {
		topic = ".*"
	}
	topics, err := kafkatext.NewTopicFilter(topic)
	if err != nil {
		return nil, err
	}
	text, err := c.partitions.One()
	if err != nil {
		return nil, err
	}
	partitions := map[int32]bool{}
	for _, s := range strings.Split(text, ",") {
		n, err := strconv.ParseInt(s, 10, 32)
		if err != nil && text != "" {
			return nil, errors.New("--partitions expects a comma separated list of numeric partition ids, but received: " + text)
		}
		partitions[int32(n)] = true
	}
	return func(tp model.TopicPartition) bool {
		return topics.Matches(tp.Topic) && (text == "" || partitions[tp.Partition])
	}, nil
}

// rule is topic, then one partition, or from-to with either side left out. The topic is a pattern of whole names.
var rule = regexp.MustCompile(`^([^:,]*)(?::(?:([0-9]*)|(?:([0-9]*)-([0-9]*))))?$`)

// parseRules reads rules apart by commas; a partition that fits one of them is selected.
func parseRules(text string) (filter, error) {
	var rules []filter
	for _, s := range strings.Split(strings.TrimRight(text, ","), ",") {
		r, err := parseRule(s)
		if err != nil {
			return nil, err
		}
		rules = append(rules, r)
	}
	return func(tp model.TopicPartition) bool {
		for _, r := range rules {
			if r(tp) {
				return true
			}
		}
		return false
	}, nil
}

// parseRule reads one rule. The upper end is exclusive.
func parseRule(s string) (filter, error) {
	m := rule.FindStringSubmatch(s)
	if m == nil {
		// The script wraps this one failure in a RuntimeException, whose message names the class.
		return nil, errors.New("org.apache.kafka.tools.TerseException: Invalid rule specification: " + s)
	}
	topic := m[1]
	if topic == "" {
		topic = ".*"
	}
	topics, err := kafkatext.NewTopicFilter(topic)
	if err != nil {
		return nil, err
	}
	lower, upper := int64(0), int64(math.MaxInt32)
	for _, bound := range []struct {
		text string
		set  func(int64)
	}{
		{m[2], func(n int64) { lower, upper = n, n+1 }},
		{m[3], func(n int64) { lower = n }},
		{m[4], func(n int64) { upper = n }},
	} {
		if bound.text == "" {
			continue
		}
		n, err := strconv.ParseInt(bound.text, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("For input string: %q", bound.text)
		}
		bound.set(n)
	}
	return func(tp model.TopicPartition) bool {
		return topics.Matches(tp.Topic) && int64(tp.Partition) >= lower && int64(tp.Partition) < upper
	}, nil
}
