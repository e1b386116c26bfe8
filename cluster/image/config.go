package image

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
)

// ResourceType is the kind of thing that configs belong to, in the numbers of the config requests.
type ResourceType int8

// The kinds that can be stored.
const (
	TopicResource ResourceType = 2
	// BrokerResource is one broker by its id, or all of them by the empty name.
	BrokerResource ResourceType = 4
	// ClientMetricsResource is a subscription to clients' metrics (KIP-714).
	ClientMetricsResource ResourceType = 16
	// GroupResource is a group, which need not exist (KIP-848).
	GroupResource ResourceType = 32
)

// ConfigResource names what a Config belongs to. A BrokerResource without a name is the default of all brokers.
type ConfigResource struct {
	Type ResourceType
	Name string
}

// Compare orders by type, then by name.
func (r ConfigResource) Compare(o ConfigResource) int {
	return cmp.Or(cmp.Compare(r.Type, o.Type), strings.Compare(r.Name, o.Name))
}

// Config is the set of keys stored for a resource: what somebody set, not what is in effect. A few keys are the rule, so
// a sorted list beats a map. The zero value is empty; a Config never changes.
type Config struct {
	entries []configEntry
}

type configEntry struct{ key, value string }

// NewConfig makes the set of a map's keys and values.
func NewConfig(values map[string]string) Config {
	if len(values) == 0 {
		return Config{}
	}
	entries := make([]configEntry, 0, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		entries = append(entries, configEntry{key, values[key]})
	}
	return Config{entries}
}

// Get finds the value of a key.
func (c Config) Get(key string) (string, bool) {
	i, ok := c.find(key)
	if !ok {
		return "", false
	}
	return c.entries[i].value, true
}

// Len is the number of keys.
func (c Config) Len() int { return len(c.entries) }

// All walks the keys in order of name.
func (c Config) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, e := range c.entries {
			if !yield(e.key, e.value) {
				return
			}
		}
	}
}

// With gives the set with key at value.
func (c Config) With(key, value string) Config {
	i, ok := c.find(key)
	entries := slices.Clone(c.entries)
	if ok {
		entries[i].value = value
	} else {
		entries = slices.Insert(entries, i, configEntry{key, value})
	}
	return Config{entries}
}

// Without gives the set with key removed.
func (c Config) Without(key string) Config {
	i, ok := c.find(key)
	if !ok {
		return c
	}
	return Config{slices.Delete(slices.Clone(c.entries), i, i+1)}
}

// Equal tells whether both sets hold the same.
func (c Config) Equal(o Config) bool { return slices.Equal(c.entries, o.entries) }

// find gives where a key is or would be.
func (c Config) find(key string) (int, bool) {
	return slices.BinarySearchFunc(c.entries, key, func(e configEntry, k string) int { return strings.Compare(e.key, k) })
}

// Config gives what is stored for a resource, the empty set when nothing is.
func (i *Image) Config(r ConfigResource) Config {
	c, _ := i.configs.get(r)
	return c
}

// Configs walks the resources for which something is stored.
func (i *Image) Configs() iter.Seq2[ConfigResource, Config] { return i.configs.all() }
