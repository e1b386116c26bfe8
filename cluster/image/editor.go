package image

import (
	"fmt"

	"troupe/cluster/record"
	"troupe/internal/model"
)

// Editor replays records on top of an Image. It belongs to one goroutine.
//
// Between Begin and EndTransaction records it works on, but Publish gives the image from before the transaction, so
// that nobody sees half of a change (KIP-868).
type Editor struct {
	published *Image
	next      Image
	// before is next as it was when the open transaction began, nil outside of one.
	before *Image
	// owned are the topics copied since the last Publish or transaction mark, which may be changed in place.
	owned   map[model.TopicID]*Topic
	touched touched
}

// ReplayError says that a record does not fit the image it was applied to: the log is corrupt, or a bug wrote it.
type ReplayError struct {
	Offset model.Offset
	Key    record.Key
	Reason string
}

// Error names the record and what is wrong with it.
func (e *ReplayError) Error() string {
	return fmt.Sprintf("replay of %s at offset %d: %s", e.Key, e.Offset, e.Reason)
}

// Edit starts an Editor on i.
func (i *Image) Edit() *Editor {
	return &Editor{published: i, next: *i, owned: map[model.TopicID]*Topic{}}
}

// InTransaction tells whether a transaction of records is open.
func (e *Editor) InTransaction() bool { return e.before != nil }

// Apply replays the record that the log holds at offset in a batch of the leader epoch.
// Error: *ReplayError, after which the Editor must be dropped.
func (e *Editor) Apply(offset model.Offset, epoch model.LeaderEpoch, r record.Record) error {
	if _, ok := r.(*record.BeginTransaction); ok && e.before == nil {
		e.begin()
		e.Skip(offset, epoch)
		return nil
	}
	e.Skip(offset, epoch)
	if reason := e.apply(r); reason != "" {
		return &ReplayError{Offset: offset, Key: r.Key(), Reason: reason}
	}
	return nil
}

// Skip moves the image past a control record, which it does not hold.
func (e *Editor) Skip(offset model.Offset, epoch model.LeaderEpoch) {
	e.next.Offset, e.next.Epoch = offset, epoch
}

// Publish gives the image of everything applied outside of an open transaction, and what changed since the last one.
func (e *Editor) Publish() (*Image, Delta) {
	state := e.next
	if e.before != nil {
		state = *e.before
	}
	from := e.published
	e.published = &state
	delta := e.touched.delta(from, e.published)
	if e.before == nil {
		e.touched = touched{}
	}
	clear(e.owned)
	return e.published, delta
}

// apply gives the reason why r does not fit, "" when it does.
func (e *Editor) apply(r record.Record) string {
	switch r := r.(type) {
	case *record.BeginTransaction:
		return "a transaction is open already"
	case *record.EndTransaction:
		return e.end()
	case *record.AbortTransaction:
		return e.abort()
	case *record.NoOp:
		return ""
	case *record.ZkMigrationState:
		e.next.migration = r
		return ""
	case *record.Config:
		return e.config(r)
	case *record.FeatureLevel:
		return e.feature(r)
	case *record.ProducerIDs:
		e.next.NextProducerID = r.NextProducerID
		return ""
	}
	if reason, done := e.applyBroker(r); done {
		return reason
	}
	if reason, done := e.applyTopic(r); done {
		return reason
	}
	return e.applySecurity(r)
}

// begin notes where to go back to. What is owned belongs to the noted state too, and must be copied before it is changed.
func (e *Editor) begin() {
	before := e.next
	e.before = &before
	clear(e.owned)
}

// end makes the records since begin part of what is published.
func (e *Editor) end() string {
	if e.before == nil {
		return "no transaction is open"
	}
	e.before = nil
	return ""
}

// abort goes back to the noted state; only the offset has moved.
func (e *Editor) abort() string {
	if e.before == nil {
		return "no transaction is open"
	}
	offset, epoch := e.next.Offset, e.next.Epoch
	e.next, e.before = *e.before, nil
	e.next.Offset, e.next.Epoch = offset, epoch
	clear(e.owned)
	return ""
}

// config sets or removes one key. Whether key and value mean anything was judged before the record was written.
func (e *Editor) config(r *record.Config) string {
	resource := ConfigResource{ResourceType(r.ResourceType), r.ResourceName}
	c := e.next.Config(resource)
	if r.Value == nil {
		c = c.Without(r.Name)
	} else {
		c = c.With(r.Name, *r.Value)
	}
	e.setConfig(resource, c)
	return ""
}

// setConfig keeps no empty entry: a resource whose last key was deleted is as one that never had any.
func (e *Editor) setConfig(resource ConfigResource, c Config) {
	if c.Len() == 0 {
		e.next.configs = e.next.configs.without(resource)
	} else {
		e.next.configs = e.next.configs.with(resource, c)
	}
	e.touched.configs = append(e.touched.configs, resource)
}

// feature refuses a metadata.version that this software cannot run: it would misread what follows.
func (e *Editor) feature(r *record.FeatureLevel) string {
	if r.Name == MetadataVersionFeature && !record.MetadataVersion(r.Level).Supported() {
		return fmt.Sprintf("metadata.version %d is not one this software can run (%s to %s)",
			r.Level, record.MinMetadataVersion, record.LatestMetadataVersion)
	}
	if r.Level == 0 {
		e.next.features = e.next.features.without(r.Name)
	} else {
		e.next.features = e.next.features.with(r.Name, r.Level)
	}
	e.touched.features = append(e.touched.features, r.Name)
	return ""
}
