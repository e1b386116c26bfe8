package controller

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cluster/image"
	"troupe/cluster/record"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// deletion is one topic of a request, by name (versions 1 to 5, and 6) or by id (6).
type deletion struct {
	name *string
	id   model.TopicID
}

// deletions gives what a request names in any version.
func deletions(r *kmsg.DeleteTopicsRequest) []deletion {
	var list []deletion
	for i := range r.TopicNames {
		list = append(list, deletion{name: &r.TopicNames[i]})
	}
	for _, t := range r.Topics {
		list = append(list, deletion{name: t.Topic, id: t.TopicID})
	}
	return list
}

// failure names the topic as the request did, since there may be nothing else to name it by.
func (d deletion) failure(err error) kmsg.DeleteTopicsResponseTopic {
	resp := kmsg.NewDeleteTopicsResponseTopic()
	resp.Topic, resp.TopicID, resp.ErrorCode, resp.ErrorMessage = d.name, d.id, codeOf(err), sentence(err)
	return resp
}

// deleteTopics removes topics with their configs. Brokers delete the data when they see the record; there is no state in
// between, and a topic of the same name can be created at once, with another id.
//
// Versions 1 to 6: 6 names topics by id too (KIP-516).
//
// Errors of a topic:
//
//	3   nobody has that name
//	42  it is named twice, or by name and id, or not at all; before version 3, deletion is switched off
//	73  deletion is switched off (delete.topic.enable)
//	100 nobody has that id
func (m *Machine) deleteTopics(r *kmsg.DeleteTopicsRequest) outcome {
	resp := reply[*kmsg.DeleteTopicsResponse](r)
	list := deletions(r)
	if !m.options.DeleteTopics {
		code := kerr.TopicDeletionDisabled
		if r.Version < 3 {
			code = kerr.InvalidRequest
		}
		for _, d := range list {
			resp.Topics = append(resp.Topics, d.failure(code))
		}
		return outcome{response: resp}
	}
	var records []record.Record
	twice := namedTwice(m.current, list)
	for _, each := range distinct(len(list), func(i int) string { return list[i].key() }) {
		d := list[each.first]
		topic, err := d.resolve(m.current, each.times > 1)
		if topic != nil {
			if answered, ok := twice[topic.ID]; ok {
				if !answered {
					twice[topic.ID] = true
					resp.Topics = append(resp.Topics, deletion{&topic.Name, topic.ID}.failure(
						fail(kerr.InvalidRequest, "The provided topic name maps to an ID that was already supplied.")))
				}
				continue
			}
		}
		if err != nil {
			resp.Topics = append(resp.Topics, d.failure(err))
			continue
		}
		done := kmsg.NewDeleteTopicsResponseTopic()
		done.Topic, done.TopicID = &topic.Name, topic.ID
		resp.Topics = append(resp.Topics, done)
		records = append(records, &record.RemoveTopic{ID: topic.ID})
	}
	return outcome{records, resp}
}

// namedTwice finds the topics that a request names both by name and by id; the value tells whether that was answered.
func namedTwice(i *image.Image, list []deletion) map[model.TopicID]bool {
	byID := map[model.TopicID]bool{}
	for _, d := range list {
		if d.name == nil {
			byID[d.id] = true
		}
	}
	twice := map[model.TopicID]bool{}
	for _, d := range list {
		if d.name == nil || !d.id.IsZero() {
			continue
		}
		if t, ok := i.Topic(*d.name); ok && byID[t.ID] {
			twice[t.ID] = false
		}
	}
	return twice
}

// key tells what was asked apart, without looking it up.
func (d deletion) key() string {
	if d.name == nil {
		return "id " + d.id.String()
	}
	return "name " + *d.name + " " + d.id.String()
}

// resolve finds the topic. What the request itself does wrong is said before whether the topic exists.
func (d deletion) resolve(i *image.Image, repeated bool) (*image.Topic, error) {
	switch {
	case d.name != nil && !d.id.IsZero():
		return nil, fail(kerr.InvalidRequest, "You may not specify both topic name and topic id.")
	case d.name == nil && d.id.IsZero():
		return nil, fail(kerr.InvalidRequest, "Neither topic name nor id were specified.")
	case repeated && d.name == nil:
		return nil, fail(kerr.InvalidRequest, "Duplicate topic id.")
	case repeated:
		return nil, fail(kerr.InvalidRequest, "Duplicate topic name.")
	case d.name == nil:
		if t, ok := i.TopicByID(d.id); ok {
			return t, nil
		}
		return nil, kerr.UnknownTopicID
	}
	if t, ok := i.Topic(*d.name); ok {
		return t, nil
	}
	return nil, kerr.UnknownTopicOrPartition
}
