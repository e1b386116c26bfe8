// Package journal tells an operator in the log what changed: brokers, topics and their settings, and the records
// that went. Each is a line; of thousands at once, a few are lines and the rest is one.
package journal

import (
	"log/slog"

	"troupe/actors/kit"
)

// Kind is what happened.
type Kind uint8

// The kinds of events that are told.
const (
	TopicCreated Kind = iota
	TopicDeleted
	PartitionsAdded
	TopicConfigured
	BrokerConfigured
	SegmentsExpired // by retention, or since they lie below the log start
	RecordsDeleted  // DeleteRecords moved the log start
	LogDeleted      // the files of a deleted partition are gone
	BrokerServes
	BrokerFenced   // it leads nothing, and is shown to no client
	BrokerStopping // in order
	BrokerUnregistered
	kinds
)

// wording is the message of a kind, and the key under which the name of the thing stands.
var wording = [kinds]struct{ message, key string }{
	TopicCreated:     {"topic created", "topic"},
	TopicDeleted:     {"topic deleted", "topic"},
	PartitionsAdded:  {"partitions added", "topic"},
	TopicConfigured:  {"topic configuration changed", "topic"},
	BrokerConfigured: {"broker configuration changed", "broker"},
	SegmentsExpired:  {"segments expired", "partition"},
	RecordsDeleted:   {"records deleted on request", "partition"},
	LogDeleted:       {"log deleted", "partition"},

	BrokerServes:       {"broker serves", "broker"},
	BrokerFenced:       {"broker is fenced", "broker"},
	BrokerStopping:     {"broker is stopping", "broker"},
	BrokerUnregistered: {"broker is unregistered", "broker"},
}

// Event is one thing that happened, to the topic, partition or broker of a name. Segments and Bytes are those that went; they
// are added up where events are. More is told with an event that has a line of its own.
type Event struct {
	Kind     Kind
	Name     string
	Segments int
	Bytes    int64
	More     []slog.Attr
}

// MessageKind is part of kit.Message.
func (*Event) MessageKind() string { return "journal.event" }

// Journal takes events from any goroutine. The zero value tells nobody.
type Journal struct{ ref kit.Ref }

// To gives the journal that an actor of New keeps.
func To(ref kit.Ref) Journal { return Journal{ref} }

// Tell passes an event on.
func (j Journal) Tell(e *Event) {
	if !j.ref.IsZero() {
		j.ref.Send(e)
	}
}
