package image

import (
	"iter"
	"slices"
	"strings"

	"troupe/internal/model"
)

// Delta is what differs between two images.
type Delta struct {
	From, To *Image
	// Topics are the topics created, changed or deleted, in order of name; a topic deleted and created again under one
	// name is two entries, the deletion first.
	Topics []TopicDelta
	// Configs are the resources whose stored keys changed.
	Configs []ConfigResource
	// Brokers are the ids whose registration appeared, changed or went.
	Brokers []model.BrokerID
	// Features are the names whose level changed.
	Features []string
	// Controllers and Security tell whether registrations of controllers, and ACLs, quotas, credentials or tokens may
	// have changed.
	Controllers, Security bool
}

// TopicDelta is a topic before and after. Before is nil for a new topic, After for a deleted one.
type TopicDelta struct {
	Before, After *Topic
}

// Empty tells whether nothing but the offset may have changed.
func (d Delta) Empty() bool {
	return len(d.Topics) == 0 && len(d.Configs) == 0 && len(d.Brokers) == 0 && len(d.Features) == 0 &&
		!d.Controllers && !d.Security && d.From.NextProducerID == d.To.NextProducerID
}

// Partitions walks the partitions that are new or changed, with their state after it.
func (d TopicDelta) Partitions() iter.Seq2[int32, *Partition] {
	return func(yield func(int32, *Partition) bool) {
		if d.After == nil {
			return
		}
		for n, p := range d.After.Partitions {
			if d.Before != nil && n < len(d.Before.Partitions) && d.Before.Partitions[n] == p {
				continue
			}
			if !yield(int32(n), p) {
				return
			}
		}
	}
}

// Name is the topic's name.
func (d TopicDelta) Name() string {
	if d.After != nil {
		return d.After.Name
	}
	return d.Before.Name
}

// touched collects what records named; repeats and changes that cancelled each other out go when a Delta is made.
type touched struct {
	topics                []model.TopicID
	configs               []ConfigResource
	brokers               []model.BrokerID
	features              []string
	controllers, security bool
}

// delta keeps what really differs, in a fixed order.
func (t *touched) delta(from, to *Image) Delta {
	d := Delta{From: from, To: to, Controllers: t.controllers, Security: t.security}
	slices.SortFunc(t.topics, model.UUID.Compare)
	for _, id := range slices.Compact(slices.Clone(t.topics)) {
		before, _ := from.byID.get(id)
		after, _ := to.byID.get(id)
		if !equalTopics(before, after) {
			d.Topics = append(d.Topics, TopicDelta{before, after})
		}
	}
	// By name now, since orders go out in this order and logs are read by people.
	slices.SortStableFunc(d.Topics, TopicDelta.compare)
	slices.SortFunc(t.configs, ConfigResource.Compare)
	for _, r := range slices.Compact(slices.Clone(t.configs)) {
		if !from.Config(r).Equal(to.Config(r)) {
			d.Configs = append(d.Configs, r)
		}
	}
	slices.Sort(t.brokers)
	for _, id := range slices.Compact(slices.Clone(t.brokers)) {
		before, _ := from.brokers.get(id)
		after, _ := to.brokers.get(id)
		// Registrations are compared as records: a heartbeat that changed nothing is no change.
		if before != after && (before == nil || after == nil || !equalRecords(before.record(), after.record())) {
			d.Brokers = append(d.Brokers, id)
		}
	}
	slices.Sort(t.features)
	for _, name := range slices.Compact(slices.Clone(t.features)) {
		if from.Feature(name) != to.Feature(name) {
			d.Features = append(d.Features, name)
		}
	}
	return d
}

// compare puts the deletion of a name before its creation, so that a reader never sees the name twice.
func (d TopicDelta) compare(o TopicDelta) int {
	if c := strings.Compare(d.Name(), o.Name()); c != 0 {
		return c
	}
	switch {
	case d.After == nil && o.After != nil:
		return -1
	case d.After != nil && o.After == nil:
		return 1
	}
	return 0
}

// Diff compares two images that no Editor connects, such as the one before and the one after a checkpoint was installed.
func Diff(from, to *Image) Delta {
	t := touched{controllers: true, security: true}
	for _, i := range []*Image{from, to} {
		for id := range i.byID.all() {
			t.topics = append(t.topics, id)
		}
		for r := range i.configs.all() {
			t.configs = append(t.configs, r)
		}
		for id := range i.brokers.all() {
			t.brokers = append(t.brokers, id)
		}
		for name := range i.features.all() {
			t.features = append(t.features, name)
		}
	}
	return t.delta(from, to)
}
