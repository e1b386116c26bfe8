package api

import "troupe/internal/model"

// mention is a partition of a request with what is asked of it.
type mention[A any] struct {
	partition int32
	ask       A
	times     int
}

// mentions are the partitions of a request by topic, in order of first mention: a topic or partition that is named
// twice is answered once, as of its last mention (measured on Kafka 4.3.1).
type mentions[A any] struct {
	topics []string
	of     map[string][]mention[A]
	at     map[model.TopicPartition]int // index into of[topic]
}

func (m *mentions[A]) add(topic string, partition int32, ask A) {
	if m.of == nil {
		m.of, m.at = map[string][]mention[A]{}, map[model.TopicPartition]int{}
	}
	tp := model.TopicPartition{Topic: topic, Partition: partition}
	if at, again := m.at[tp]; again {
		known := &m.of[topic][at]
		known.ask, known.times = ask, known.times+1
		return
	}
	if m.of[topic] == nil {
		m.topics = append(m.topics, topic)
	}
	m.at[tp] = len(m.of[topic])
	m.of[topic] = append(m.of[topic], mention[A]{partition, ask, 1})
}
