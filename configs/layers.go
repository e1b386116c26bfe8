package configs

import (
	"slices"
	"strconv"
)

// Layers are the values below a topic's overrides, by key: those that Load found, and those that the metadata log
// holds for all brokers and for this one. The maps are read, never written, so Layers may be shared; a change of the
// metadata makes new maps.
//
// Values are the texts that were set: synonyms show them unchanged, and a stored list keeps its repeats. Every value was
// checked before it came here, by Load or by an alteration; one that does not parse is from another program.
type Layers struct {
	Static  map[string]string
	Default map[string]string
	Broker  map[string]string

	// Hostname is what a listener on every address advertises when advertised.listeners does not say.
	Hostname string
}

// Initial gives the dynamic defaults that a new cluster starts with. With eligible leader replicas (KIP-966) all
// brokers must agree on min.insync.replicas, so it is recorded when the cluster is made.
func (l Layers) Initial() map[string]string {
	const key = "min.insync.replicas"
	text, _ := l.text(key)
	if text == nil {
		return map[string]string{key: brokerKeys()[key].Default}
	}
	return map[string]string{key: *text}
}

// text is the strongest value set for a broker key, as it was written; nil when none is. Where a dynamic layer sets
// another key of the same meaning, weaker layers' values of this one no longer count: Kafka drops them.
func (l Layers) text(key string) (*string, Source) {
	for _, layer := range l.layers() {
		if v, set := layer.values[key]; set {
			return &v, layer.source
		}
		if layer.source == StaticSource {
			break
		}
		for _, group := range synonymGroups {
			if _, set := layer.values[group[0]]; set && slices.Contains(group[1:], key) {
				return nil, DefaultSource
			}
		}
	}
	return nil, DefaultSource
}

type layer struct {
	values map[string]string
	source Source
}

// layers lists them from the strongest on.
func (l Layers) layers() []layer {
	return []layer{{l.Broker, DynamicBrokerSource}, {l.Default, DynamicDefaultSource}, {l.Static, StaticSource}}
}

// value is the parsed value of a broker key; nil is null. One that no table knows is a text, which nothing reads or shows.
func (l Layers) value(name string) (any, Key, error) {
	key := brokerKeys()[name]
	text, _ := l.text(name)
	if text == nil {
		if key.Null {
			return nil, key, nil
		}
		unset := l.unset(key)
		text = &unset
	}
	v, err := key.parse(*text)
	return v, key, err
}

// The keys of a broker's session. A file of Kafka may set the heartbeat alone: it gets Kafka's ratio of the two, 4.5
// (docs/adr/0019).
const (
	sessionKey   = "broker.session.timeout.ms"
	heartbeatKey = "broker.heartbeat.interval.ms"
)

// unset is the text of a key that nothing sets.
func (l Layers) unset(key Key) string {
	if key.Name != sessionKey {
		return key.Default
	}
	beat, _, err := l.value(heartbeatKey)
	least, _ := key.parse(key.Default) // a test parses all defaults
	if err != nil {
		return key.Default // whoever asks for the heartbeat is told
	}
	return strconv.FormatInt(max(least.(int64), beat.(int64)*9/2), 10)
}

// Topic resolves a topic's configuration under its overrides. An error names a stored value that does not parse.
func (l Layers) Topic(overrides map[string]string) (Topic, error) {
	var t Topic
	err := decode(&t, func(name string) (any, Key, error) { return l.topicValue(name, overrides) })
	if err != nil {
		return Topic{}, err
	}
	// Kafka's own tests make segments smaller than segment.bytes allows, by this key.
	if v, _, err := l.topicValue("internal.segment.bytes", overrides); err == nil && v != nil {
		t.SegmentBytes = int32(v.(int64))
	}
	return t, nil
}

// topicValue is the parsed value of a topic key: the override, or the first broker key behind it that has a value.
func (l Layers) topicValue(name string, overrides map[string]string) (any, Key, error) {
	key := topicIndex()[name]
	if text, set := overrides[name]; set {
		v, err := key.parse(text)
		return v, key, err
	}
	for _, behind := range topicSynonyms[name] {
		v, _, err := l.value(behind.name)
		if err != nil {
			return nil, key, err
		}
		if v == nil {
			continue
		}
		if n, whole := v.(int64); whole {
			v = n * behind.factor
			if name == "retention.ms" && n < 0 {
				v = int64(-1) // any negative number of hours, minutes or milliseconds is "for ever"
			}
		}
		return v, key, nil
	}
	if key.Null {
		return nil, key, nil
	}
	v, err := key.parse(key.Default)
	return v, key, err
}
