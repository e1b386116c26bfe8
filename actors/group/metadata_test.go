package group

import (
	"strings"
	"testing"

	"troupe/cluster/image"
	"troupe/cluster/record"
	"troupe/internal/model"
)

// metadata makes the images of a scenario.
type metadata struct {
	t       *testing.T
	current *image.Image
	next    model.Offset
	brokers int
	made    map[string]int // how often a topic of a name was made
}

func newMetadata(t *testing.T) *metadata {
	return &metadata{t: t, current: image.Empty(""), made: map[string]int{}}
}

// apply gives the delta that records lead to.
func (m *metadata) apply(records ...record.Record) image.Delta {
	m.t.Helper()
	e := m.current.Edit()
	for _, r := range records {
		m.next++
		if err := e.Apply(m.next, 1, r); err != nil {
			m.t.Fatal(err)
		}
	}
	var d image.Delta
	m.current, d = e.Publish()
	return d
}

// topic makes a topic or lets it grow. Its id is its name, with a mark for each life that it had before.
func (m *metadata) topic(name string, partitions int) image.Delta {
	var records []record.Record
	old, there := m.current.Topic(name)
	id, from := model.TopicID{}, 0
	if there {
		id, from = old.ID, len(old.Partitions)
	} else {
		copy(id[:], name+strings.Repeat("'", m.made[name]))
		m.made[name]++
		records = append(records, &record.Topic{Name: name, ID: id})
	}
	for n := from; n < partitions; n++ {
		broker := model.BrokerID(1)
		if m.brokers > 0 {
			broker = model.BrokerID(n%m.brokers + 1)
		}
		one := []model.BrokerID{broker}
		records = append(records, &record.Partition{PartitionID: int32(n), TopicID: id, Replicas: one, ISR: one, Leader: broker})
	}
	return m.apply(records...)
}

// remove deletes a topic, whether it is known here or not.
func (m *metadata) remove(name string) image.Delta {
	if t, there := m.current.Topic(name); there {
		return m.apply(&record.RemoveTopic{ID: t.ID})
	}
	return image.Delta{From: m.current, To: m.current, Topics: []image.TopicDelta{{Before: &image.Topic{Name: name}}}}
}

// racks registers a broker in each rack; partitions made after lie on them in turns.
func (m *metadata) racks(names []string) image.Delta {
	var records []record.Record
	for i, name := range names {
		records = append(records, &record.RegisterBroker{BrokerID: model.BrokerID(i + 1), Rack: &name})
	}
	m.brokers = len(names)
	return m.apply(records...)
}

func (m *metadata) config(group, key, value string) image.Delta {
	return m.apply(&record.Config{ResourceType: int8(image.GroupResource), ResourceName: group, Name: key, Value: &value})
}

// topicName reads an id that topic made.
func topicName(id [16]byte) string { return strings.TrimRight(string(id[:]), "\x00") }
