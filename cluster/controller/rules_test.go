package controller

import (
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cluster/image"
	"troupe/codec/kerr"
)

// plainRules knows four keys and answers as Kafka 4.3.1 does for them.
type plainRules struct {
	// unclean is unclean.leader.election.enable in the file of the node.
	unclean bool
}

func (*plainRules) check(key, value string) error {
	switch key {
	case "retention.ms", minISRKey:
		if _, err := strconv.ParseInt(value, 10, 64); err != nil {
			return &kerr.Error{Code: kerr.InvalidConfig, Detail: fmt.Sprintf("Invalid value %s for configuration %s: Not a number of type LONG", value, key)}
		}
	case uncleanKey, "cleanup.policy":
	default:
		return &kerr.Error{Code: kerr.InvalidConfig, Detail: "Unknown topic config name: " + key}
	}
	return nil
}

func (r *plainRules) Check(_ image.ConfigResource, entries []ConfigChange) error {
	for _, e := range entries {
		if err := r.check(e.Key, *e.Value); err != nil {
			return err
		}
	}
	return nil
}

func (r *plainRules) Alter(_ image.ConfigResource, stored image.Config, changes []ConfigChange) (image.Config, error) {
	for _, c := range changes {
		switch c.Op {
		case kmsg.IncrementalAlterConfigOpDelete:
			stored = stored.Without(c.Key)
		case kmsg.IncrementalAlterConfigOpAppend:
			if c.Key != "cleanup.policy" {
				return stored, &kerr.Error{Code: kerr.InvalidConfig, Detail: "Can't APPEND to key " + c.Key + " because its type is not LIST."}
			}
			now, _ := stored.Get(c.Key)
			stored = stored.With(c.Key, now+","+*c.Value)
		default:
			if err := r.check(c.Key, *c.Value); err != nil {
				return stored, err
			}
			stored = stored.With(c.Key, *c.Value)
		}
	}
	return stored, nil
}

func (*plainRules) DescribeTopic(*image.Image, image.Config) []kmsg.CreateTopicsResponseTopicConfig {
	return nil
}

func (r *plainRules) TopicValue(i *image.Image, topic, key string) string {
	if v, ok := i.Config(image.ConfigResource{Type: image.TopicResource, Name: topic}).Get(key); ok {
		return v
	}
	if v, ok := i.Config(image.ConfigResource{Type: image.BrokerResource}).Get(key); ok {
		return v
	}
	if key == uncleanKey {
		return strconv.FormatBool(r.unclean)
	}
	return "1"
}
