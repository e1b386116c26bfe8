package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cluster/controller"
	"troupe/cluster/image"
)

type tmpRules struct{}

func (tmpRules) Check(r image.ConfigResource, entries []controller.ConfigChange) error { return nil }
func (tmpRules) Alter(r image.ConfigResource, stored image.Config, changes []controller.ConfigChange) (image.Config, error) {
	for _, c := range changes {
		if c.Value != nil {
			stored = stored.With(c.Key, *c.Value)
		} else {
			stored = stored.Without(c.Key)
		}
	}
	return stored, nil
}
func (tmpRules) DescribeTopic(i *image.Image, overrides image.Config) []kmsg.CreateTopicsResponseTopicConfig {
	return nil
}
func (tmpRules) TopicValue(i *image.Image, topic, key string) string { return "1" }
