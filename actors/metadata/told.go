package metadata

import (
	"log/slog"
	"strconv"
	"strings"

	"troupe/actors/journal"
	"troupe/cluster/image"
	"troupe/internal/model"
)

// tell passes on what an operator wants to find in the log of a change.
func (a *applier) tell(d image.Delta) {
	for _, t := range d.Topics {
		e := &journal.Event{Name: t.Name()}
		switch {
		case t.Before == nil:
			e.Kind = journal.TopicCreated
			replicas := 0
			if len(t.After.Partitions) > 0 {
				replicas = len(t.After.Partitions[0].Replicas)
			}
			e.More = []slog.Attr{slog.String("id", t.After.ID.String()), slog.Int("partitions", len(t.After.Partitions)), slog.Int("replicas", replicas)}
		case t.After == nil:
			e.Kind = journal.TopicDeleted
			e.More = []slog.Attr{slog.String("id", t.Before.ID.String()), slog.Int("partitions", len(t.Before.Partitions))}
		case len(t.After.Partitions) > len(t.Before.Partitions):
			e.Kind = journal.PartitionsAdded
			e.More = []slog.Attr{slog.Int("from", len(t.Before.Partitions)), slog.Int("to", len(t.After.Partitions))}
		default: // leaderships and ISRs move all the time
			continue
		}
		a.deps.Journal.Tell(e)
	}
	if d.From.BrokerCount() == 0 {
		return // what a new cluster begins with was changed by nobody
	}
	for _, id := range d.Brokers {
		a.tellBroker(id, d)
	}
	for _, r := range d.Configs {
		a.tellConfig(r, d)
	}
}

// tellBroker says what became of a broker. One that is alone hears it at its start and its end.
func (a *applier) tellBroker(id model.BrokerID, d image.Delta) {
	was, before := d.From.Broker(id)
	is, there := d.To.Broker(id)
	e := &journal.Event{Name: strconv.Itoa(int(id))}
	switch served, serves := before && was.Active(), there && is.Active(); {
	case max(d.From.BrokerCount(), d.To.BrokerCount()) == 1:
		return
	case !there:
		e.Kind = journal.BrokerUnregistered
	case serves && (!served || was.Epoch != is.Epoch):
		e.Kind = journal.BrokerServes
		e.More = append(e.More, slog.Int64("broker_epoch", int64(is.Epoch)))
	case serves || before && was.Fenced:
		return
	case is.Fenced && before:
		e.Kind = journal.BrokerFenced
	case is.InControlledShutdown && served:
		e.Kind = journal.BrokerStopping
	default:
		return
	}
	a.deps.Journal.Tell(e)
}

// tellConfig gives the values of topics. Those of brokers may be secrets, so only their keys are told.
func (a *applier) tellConfig(r image.ConfigResource, d image.Delta) {
	e := &journal.Event{Name: r.Name, Kind: journal.TopicConfigured}
	switch r.Type {
	case image.BrokerResource:
		e.Kind = journal.BrokerConfigured
		if r.Name == "" {
			e.Name = "all"
		}
	case image.TopicResource:
		if _, there := d.To.Topic(r.Name); !there {
			return // its settings went with it
		}
	default:
		return
	}
	set, unset := changed(d.From.Config(r), d.To.Config(r), r.Type == image.TopicResource)
	if len(set) > 0 {
		e.More = append(e.More, slog.String("set", strings.Join(set, ",")))
	}
	if len(unset) > 0 {
		e.More = append(e.More, slog.String("unset", strings.Join(unset, ",")))
	}
	a.deps.Journal.Tell(e)
}

// changed lists the keys that got another value, with it where it may be shown, and those that have none any more.
func changed(from, to image.Config, values bool) (set, unset []string) {
	for key, value := range to.All() {
		if old, had := from.Get(key); had && old == value {
			continue
		}
		if values {
			key += "=" + value
		}
		set = append(set, key)
	}
	for key := range from.All() {
		if _, has := to.Get(key); !has {
			unset = append(unset, key)
		}
	}
	return set, unset
}
