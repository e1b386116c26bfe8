// Package configrules answers what the controller asks about configuration out of the tables and layers of package
// configs: the controller's machine knows neither keys nor defaults.
package configrules

import (
	"maps"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cluster/controller"
	"troupe/cluster/image"
	"troupe/codec/kerr"
	"troupe/configs"
)

// Rules is the controller's Rules over configuration layers. It holds no state, so that the answers to one question
// are the same on every controller with the same static configuration.
type Rules struct {
	layers func(*image.Image) configs.Layers
}

var _ controller.Rules = (*Rules)(nil)

// New makes Rules. layers gives the static configuration with the dynamic broker configuration of an image over it.
func New(layers func(*image.Image) configs.Layers) *Rules { return &Rules{layers} }

// Check judges a whole configuration. The errors are those of Alter.
func (r *Rules) Check(of image.ConfigResource, entries []controller.ConfigChange) error {
	values := make(map[string]*string, len(entries))
	for _, e := range entries {
		values[e.Key] = e.Value
	}
	if of.Type == image.TopicResource {
		_, err := r.static().CheckTopic(values)
		return err
	}
	given := make(map[string]string, len(values))
	for key, value := range values {
		if value == nil {
			return &kerr.Error{Code: kerr.InvalidRequest, Detail: "Null value not supported for : " + key}
		}
		given[key] = *value
	}
	switch of.Type {
	case image.BrokerResource:
		return r.static().CheckBroker(given, of.Name == "")
	case image.GroupResource:
		return configs.Group.Check(given)
	case image.ClientMetricsResource:
		return configs.ClientMetrics.Check(given)
	default:
		return kerr.InvalidRequest
	}
}

// Alter gives a resource's configuration after incremental changes.
// Errors: 40 INVALID_CONFIG for a topic's or group's key or value, 42 INVALID_REQUEST for a broker's.
func (r *Rules) Alter(of image.ConfigResource, stored image.Config, changes []controller.ConfigChange) (image.Config, error) {
	current, asked := maps.Collect(stored.All()), make([]configs.Change, len(changes))
	for i, c := range changes {
		asked[i] = configs.Change{Key: c.Key, Op: configs.Op(c.Op), Value: c.Value}
	}
	next, err := r.altered(of, current, asked)
	if err != nil {
		return image.Config{}, err
	}
	return image.NewConfig(next), nil
}

// altered begins with what is stored, put in the place of the layer that it is: only the layers know how a change of a list
// combines with a default below it.
func (r *Rules) altered(of image.ConfigResource, current map[string]string, changes []configs.Change) (map[string]string, error) {
	layers := r.static()
	switch {
	case of.Type == image.TopicResource:
		return layers.AlterTopic(current, changes)
	case of.Type == image.BrokerResource && of.Name == "":
		layers.Default = current
		return layers.AlterDefaults(changes)
	case of.Type == image.BrokerResource:
		layers.Broker = current
		return layers.AlterBroker(changes)
	case of.Type == image.GroupResource:
		return configs.Group.Alter(current, changes)
	case of.Type == image.ClientMetricsResource:
		return configs.ClientMetrics.Alter(current, changes)
	default:
		return nil, kerr.InvalidRequest
	}
}

// static is the configuration that does not depend on the metadata: all that a change of it may be judged by, since
// the machine asks about changes in the order of its log, not as of a published image.
func (r *Rules) static() configs.Layers { return r.layers(image.Empty("")) }

// DescribeTopic lists every config of a topic with these overrides.
func (r *Rules) DescribeTopic(i *image.Image, overrides image.Config) []kmsg.CreateTopicsResponseTopicConfig {
	entries := r.describe(i, overrides)
	list := make([]kmsg.CreateTopicsResponseTopicConfig, len(entries))
	for at, e := range entries {
		list[at] = kmsg.NewCreateTopicsResponseTopicConfig()
		list[at].Name, list[at].Value = e.Name, e.Value
		list[at].ReadOnly, list[at].IsSensitive, list[at].Source = e.ReadOnly, e.Sensitive, int8(e.Source)
	}
	return list
}

// TopicValue is the effective value of a topic's key, as text; empty for null and for a key that no topic has.
func (r *Rules) TopicValue(i *image.Image, topic, key string) string {
	overrides := i.Config(image.ConfigResource{Type: image.TopicResource, Name: topic})
	for _, e := range r.describe(i, overrides, key) {
		if e.Value != nil {
			return *e.Value
		}
	}
	return ""
}

// describe falls back to the defaults where a stored value does not parse: it was written by newer software, and a
// controller that stops over it would stop the cluster.
func (r *Rules) describe(i *image.Image, overrides image.Config, keys ...string) []configs.Entry {
	entries, err := r.layers(i).DescribeTopic(maps.Collect(overrides.All()), keys)
	if err == nil {
		return entries
	}
	if entries, err = r.static().DescribeTopic(nil, keys); err != nil {
		return nil // the static configuration was checked at the start
	}
	return entries
}
