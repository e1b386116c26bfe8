package configs

import (
	"maps"
	"slices"

	"troupe/codec/kerr"
)

// Resource is a kind of thing, beside topics and brokers, that has configuration of its own.
type Resource struct {
	keys   []Key
	source Source
	code   kerr.Code // of a bad key or value (measured on Kafka 4.3.1)
	name   string    // in complaints
}

// The kinds: consumer, share and streams groups, and subscriptions of client metrics (KIP-714).
var (
	Group         = Resource{groupResourceKeys, 8, kerr.InvalidConfig, "group config name"}
	ClientMetrics = Resource{metricsResourceKeys, 7, kerr.InvalidRequest, "client metrics configuration"}
)

// Alter applies changes and gives the new configuration; nothing is changed on an error.
func (r Resource) Alter(stored map[string]string, changes []Change) (map[string]string, error) {
	if err := sensible(changes); err != nil {
		return nil, err
	}
	known, next := indexed(r.keys), cloned(stored)
	for _, c := range changes {
		if known[c.Key].Type != List && (c.Op == Append || c.Op == Subtract) {
			return nil, invalidConfig("Can't append to or subtract from key %s because its type is not LIST.", c.Key)
		}
		apply(next, c, known[c.Key].Default)
	}
	return next, r.Check(next)
}

// Check judges a whole configuration.
func (r Resource) Check(values map[string]string) error {
	known := indexed(r.keys)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		key, there := known[name]
		if !there {
			return &kerr.Error{Code: r.code, Detail: "Unknown " + r.name + ": " + name}
		}
		if err := key.admit(values[name]); err != nil {
			return &kerr.Error{Code: r.code, Detail: err.Error()}
		}
	}
	return nil
}

// Describe lists the configuration, sorted by name; no names means all, unknown ones are left out.
func (r Resource) Describe(stored map[string]string, names []string) ([]Entry, error) {
	known := indexed(r.keys)
	var entries []Entry
	for _, name := range wanted(known, names) {
		key := known[name]
		e := Entry{Name: name, Type: key.Type, Doc: key.Doc}
		value, set := stored[name]
		if !set {
			value = key.Default
		}
		v, err := key.parse(value)
		if err != nil {
			return nil, err
		}
		if set || !key.Null {
			e.Value = text(v)
		}
		if set {
			e.Synonyms = append(e.Synonyms, Synonym{name, &value, r.source})
		}
		entries = append(entries, e.sourced())
	}
	return entries, nil
}
