package configs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"troupe/codec/kerr"
)

// Op is an operation of IncrementalAlterConfigs (KIP-339); the numbers are the protocol's.
type Op int8

// The operations. Append and Subtract work on lists.
const (
	Set      Op = 0
	Delete   Op = 1
	Append   Op = 2
	Subtract Op = 3
)

// Change is one operation on one key. Only Delete goes without a value.
type Change struct {
	Key   string
	Op    Op
	Value *string
}

// The errors carry codes and texts as Kafka 4.3.1 answers them: 40 for a value that a topic does not take, 42 for a
// broker's and for a request that makes no sense.
func invalidConfig(format string, args ...any) error {
	return &kerr.Error{Code: kerr.InvalidConfig, Detail: fmt.Sprintf(format, args...)}
}

func invalidRequest(format string, args ...any) error {
	return &kerr.Error{Code: kerr.InvalidRequest, Detail: fmt.Sprintf(format, args...)}
}

// AlterTopic applies changes to a topic's overrides and gives the new ones; nothing is changed on an error.
func (l Layers) AlterTopic(overrides map[string]string, changes []Change) (map[string]string, error) {
	if err := sensible(changes); err != nil {
		return nil, err
	}
	next := cloned(overrides)
	for _, c := range changes {
		key := topicIndex()[c.Key]
		// Lists are the only values that have parts.
		if key.Type != List && (c.Op == Append || c.Op == Subtract) {
			name := map[Op]string{Append: "APPEND", Subtract: "SUBTRACT"}[c.Op]
			return nil, invalidConfig("Can't %s to key %s because its type is not LIST.", name, c.Key)
		}
		apply(next, c, key.Default)
	}
	return next, l.checkTopic(next)
}

// CheckTopic checks the overrides of a topic that is created, or whose configuration is replaced, and gives them
// without their nulls, which are refused.
func (l Layers) CheckTopic(overrides map[string]*string) (map[string]string, error) {
	given := map[string]string{}
	var nulls []string
	for name, value := range overrides {
		if value == nil {
			nulls = append(nulls, name)
			continue
		}
		given[name] = *value
	}
	if len(nulls) > 0 {
		slices.Sort(nulls)
		return nil, invalidConfig("Null value not supported for topic configs: %s", strings.Join(nulls, ","))
	}
	return given, l.checkTopic(given)
}

// checkTopic complains of names before values, since Kafka does; among several of a kind, of the first by name.
func (l Layers) checkTopic(overrides map[string]string) error {
	names := slices.Sorted(maps.Keys(overrides))
	for _, name := range names {
		if _, known := topicIndex()[name]; !known {
			return invalidConfig("Unknown topic config name: %s", name)
		}
	}
	for _, name := range names {
		key := topicIndex()[name]
		if err := key.admit(overrides[name]); err != nil {
			return invalidConfig("%v", err)
		}
	}
	// Only what is in force with the layers below can be in conflict.
	t, err := l.Topic(overrides)
	if err != nil {
		return invalidConfig("%v", err)
	}
	if t.MinCompactionLag > t.MaxCompactionLag {
		return invalidConfig("conflict topic config setting min.compaction.lag.ms (%d) > max.compaction.lag.ms (%d)",
			t.MinCompactionLag.Milliseconds(), t.MaxCompactionLag.Milliseconds())
	}
	return nil
}

// admit checks a value by type and rule, and refuses all but the default of a key that is refused: whoever sets TLS,
// quotas or remote storage must not believe that they are there. An empty text sets nothing.
func (k Key) admit(text string) error {
	v, err := k.parse(text)
	if err != nil || k.Effect != Refused || text == "" {
		return err
	}
	if initial, err := k.parse(k.Default); err == nil && !k.Null && shown(v) == shown(initial) {
		return nil
	}
	if k.Sensitive() {
		text = "[hidden]"
	}
	return &ValueError{k.Name, strings.TrimSpace(text), "refused, because " + k.Reason}
}

// sensible refuses what no resource takes. Kafka looks at repeats first, then at operations and values.
func sensible(changes []Change) error {
	seen := map[string]bool{}
	for _, c := range changes {
		if seen[c.Key] {
			return invalidRequest("Error due to duplicate config keys")
		}
		seen[c.Key] = true
	}
	for _, c := range changes {
		if c.Op < Set || c.Op > Subtract {
			return invalidRequest("Unknown operation type %d", c.Op)
		}
		if c.Value == nil && c.Op != Delete {
			return invalidRequest("Null value not supported for : %s", c.Key)
		}
	}
	return nil
}

// apply changes one key. A list that is not set starts from its default; elements it has are not appended again.
func apply(values map[string]string, c Change, initial string) {
	current, set := values[c.Key]
	if !set {
		current = initial
	}
	switch c.Op {
	case Set:
		values[c.Key] = *c.Value
	case Delete:
		delete(values, c.Key)
	case Append:
		values[c.Key] = strings.Join(splitList(strings.Trim(current+","+*c.Value, ",")), ",")
	case Subtract:
		gone := make(map[string]bool)
		for _, element := range splitList(*c.Value) {
			gone[element] = true
		}
		left := slices.DeleteFunc(splitList(current), func(s string) bool { return gone[s] })
		values[c.Key] = strings.Join(left, ",")
	}
}

// cloned gives a map that can be written to; of nil, an empty one.
func cloned(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return maps.Clone(m)
}
