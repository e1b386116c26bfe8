package configs

import (
	"slices"
	"strings"
)

// Source says where a value comes from; the numbers are those of DescribeConfigs.
type Source int8

// The sources, strongest first.
const (
	TopicSource          Source = 1
	DynamicBrokerSource  Source = 2
	DynamicDefaultSource Source = 3
	StaticSource         Source = 4
	DefaultSource        Source = 5
)

// Synonym is one of the places a value could come from. Value is nil when it is sensitive.
type Synonym struct {
	Name   string
	Value  *string
	Source Source
}

// Entry is one key of a DescribeConfigs reply. Value is nil for null and for sensitive keys.
type Entry struct {
	Name      string
	Value     *string
	Source    Source
	ReadOnly  bool
	Sensitive bool
	Type      Type // 0 for keys that are not known
	Doc       string
	Synonyms  []Synonym
}

// DescribeTopic lists a topic's configuration, sorted by name; no names means all, unknown ones are left out.
//
// The source is that of the first synonym, as in Kafka: a value that comes from log.retention.hours alone is said to be
// a default, since Kafka leaves out the synonyms before the first one that bears the topic key's dynamic name.
func (l Layers) DescribeTopic(overrides map[string]string, names []string) ([]Entry, error) {
	var entries []Entry
	for _, name := range wanted(topicIndex(), names) {
		v, key, err := l.topicValue(name, overrides)
		if err != nil {
			return nil, err
		}
		e := Entry{Name: name, Type: key.Type, Doc: key.Doc, Value: text(v)}
		if _, set := overrides[name]; set {
			e.Synonyms = append(e.Synonyms, Synonym{name, e.Value, TopicSource})
		}
		if behind := topicSynonyms[name]; behind != nil {
			e.Synonyms = append(e.Synonyms, l.brokerSynonyms(behind[0].name)...)
		}
		entries = append(entries, e.sourced())
	}
	return entries, nil
}

// DescribeBroker lists this broker's configuration in the same way, with what was set that no table knows.
func (l Layers) DescribeBroker(names []string) ([]Entry, error) {
	all := wanted(brokerKeys(), names)
	for _, layer := range l.layers() {
		for name := range layer.values {
			if asked := len(names) == 0 || slices.Contains(names, name); asked && !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	slices.Sort(all)
	var entries []Entry
	for _, name := range all {
		v, key, err := l.value(name)
		if err != nil {
			return nil, err
		}
		e := brokerEntry(name, key)
		if !e.Sensitive {
			e.Value = text(v)
		}
		e.Synonyms = l.brokerSynonyms(name)
		entries = append(entries, e.sourced())
	}
	return entries, nil
}

// DescribeDefaults lists what is set for all brokers (the broker resource without a name), as it was written.
func (l Layers) DescribeDefaults(names []string) []Entry {
	var entries []Entry
	for name, value := range l.Default {
		if len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		e := brokerEntry(name, brokerKeys()[name])
		if !e.Sensitive {
			e.Value = &value
		}
		e.Synonyms = []Synonym{{name, e.Value, DynamicDefaultSource}}
		entries = append(entries, e.sourced())
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries
}

// brokerEntry fills what does not depend on values. Keys that no table knows may hold secrets, so they are sensitive.
func brokerEntry(name string, key Key) Entry {
	return Entry{Name: name, Type: key.Type, Doc: key.Doc, ReadOnly: key.Mode == ReadOnly, Sensitive: key.Sensitive() || key.Name == ""}
}

// sourced takes the source of the strongest synonym. What none stands behind is a default, even where a weaker key of
// the same meaning gave the value.
func (e Entry) sourced() Entry {
	e.Source = DefaultSource
	if len(e.Synonyms) > 0 {
		e.Source = e.Synonyms[0].Source
	}
	return e
}

// brokerSynonyms lists every value set for a broker key or for one of the same meaning, strongest layer first. What
// stands before the first one of that very name is left out, as Kafka does.
func (l Layers) brokerSynonyms(name string) []Synonym {
	var all []Synonym
	for _, layer := range append(l.layers(), layer{nil, DefaultSource}) {
		for _, kin := range synonyms(name) {
			key := brokerKeys()[kin]
			value, set := layer.values[kin]
			if layer.source == DefaultSource {
				value, set = l.unset(key), key.Name != "" && !key.Null && !slices.Contains(rates, kin)
			}
			if !set {
				continue
			}
			s := Synonym{kin, &value, layer.source}
			if key.Sensitive() || key.Name == "" {
				s.Value = nil
			}
			all = append(all, s)
		}
	}
	first := slices.IndexFunc(all, func(s Synonym) bool { return s.Name == name })
	if first < 0 {
		return nil
	}
	return all[first:]
}

// synonymGroups are broker keys of one meaning, the strongest first; only that one can be changed while brokers run.
var synonymGroups = [][]string{
	{"log.roll.ms", "log.roll.hours"},
	{"log.roll.jitter.ms", "log.roll.jitter.hours"},
	{"log.retention.ms", "log.retention.minutes", "log.retention.hours"},
	{"log.flush.interval.ms", flushScheduler},
}

// rates are the broker keys that are set while brokers run and never in a file. To Kafka they have no default.
var rates = []string{"leader.replication.throttled.rate", "follower.replication.throttled.rate", "replica.alter.log.dirs.io.max.bytes.per.second"}

// flushScheduler stands in for log.flush.interval.ms, and not the other way round: it has a meaning of its own.
const flushScheduler = "log.flush.scheduler.interval.ms"

// synonyms gives the broker keys that Kafka lists with a key, in the order of their strength.
func synonyms(name string) []string {
	for _, group := range synonymGroups {
		if slices.Contains(group, name) && name != flushScheduler {
			return group
		}
	}
	return []string{name}
}

// wanted gives the names to describe, sorted: Kafka's own order is that of a hash table, and its tools sort.
func wanted(known index, names []string) []string {
	var found []string
	for _, name := range known.names() {
		if asked := len(names) == 0 || slices.Contains(names, name); asked && !known[name].Internal {
			found = append(found, name)
		}
	}
	return found
}

func text(v any) *string {
	if v == nil {
		return nil
	}
	s := shown(v)
	return &s
}
