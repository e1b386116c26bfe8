package controller

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cluster/image"
)

// Rules is what the machine asks about configuration, which belongs to another package. Its methods are pure: the
// answer depends on the arguments and on the node's static configuration only. Errors carry their code (kerr).
type Rules interface {
	// Check judges the whole configuration that a resource is created with, or that replaces what it had; a nil value
	// was null in the request.
	Check(r image.ConfigResource, entries []ConfigChange) error
	// Alter gives what is stored for a resource after incremental changes.
	Alter(r image.ConfigResource, stored image.Config, changes []ConfigChange) (image.Config, error)
	// DescribeTopic lists every config of a topic with these overrides, for the reply of CreateTopics 5+.
	DescribeTopic(i *image.Image, overrides image.Config) []kmsg.CreateTopicsResponseTopicConfig
	// TopicValue is the effective value of a topic's key: override, dynamic default of the cluster, static, default.
	TopicValue(i *image.Image, topic, key string) string
}

// ConfigChange is one operation on one key (KIP-339).
type ConfigChange struct {
	Key string
	Op  kmsg.IncrementalAlterConfigOp
	// Value is nil for a deletion, and for a null in the request.
	Value *string
}
