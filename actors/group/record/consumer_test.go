package record

import (
	"reflect"
	"testing"

	"troupe/actors/coordinator"
	"troupe/internal/model"
)

// The file was written by Kafka 4.3.1 for two groups of Java consumers: "golden", where a static member with a rack was
// joined by a dynamic one and, for a while, by one of the classic protocol, and "pattern", whose one member subscribed by a
// regular expression and which was deleted at the end. The values are what Kafka's dump-log shows of it.
func TestKafkasRecordsOfConsumerGroupsSayWhatKafkasToolShows(t *testing.T) {
	t1, t2 := topicID(t, "qkTxziJqSrOCFOVrD9cijg"), topicID(t, "gL-qqwCQS9CCu0HELqpagQ")
	text := func(s string) *string { return &s }
	records := written(t, "testdata/kafka-4.3.1-consumer.log")
	for _, c := range []struct {
		offset int
		key    ConsumerKey
		want   Value // nil for a tombstone
	}{
		{57, ConsumerKey{KindGroup, "golden", ""}, &ConsumerGroup{Epoch: 5, MetadataHash: 8991862705643382385}},
		{56, ConsumerKey{KindMember, "golden", "_OKBOOK6SVmKaQiLAYHRiA"}, nil},
		{58, ConsumerKey{KindMemberTarget, "golden", "HRiF3pSaSQmIg9aaeVCriQ"}, &ConsumerMemberTarget{
			Topics: []TopicPartitions{{Topic: t1, Partitions: []int32{2}}},
		}},
		{60, ConsumerKey{KindTarget, "golden", ""}, &ConsumerTarget{Epoch: 5, TimestampMs: 1795987119362}},
		{61, ConsumerKey{KindCurrent, "golden", "HRiF3pSaSQmIg9aaeVCriQ"}, &ConsumerCurrent{
			Epoch: 4, PreviousEpoch: 4, State: 1, Assigned: []TopicPartitions{},
			Revoking: []TopicPartitions{{Topic: t1, Partitions: []int32{1}, Epochs: []int32{4}}},
		}},
		{63, ConsumerKey{KindCurrent, "golden", "ab7XknCXQtK6pCKXOtJTkQ"}, &ConsumerCurrent{
			Epoch: 5, PreviousEpoch: 4, State: 2, Assigned: []TopicPartitions{
				{Topic: t2, Partitions: []int32{0, 1}, Epochs: []int32{2, 5}},
				{Topic: t1, Partitions: []int32{0}, Epochs: []int32{2}},
			}, Revoking: []TopicPartitions{},
		}},
		{91, ConsumerKey{KindMember, "pattern", "Vz-Y2sW_TVCvJIaefqqWnA"}, &ConsumerMember{
			ClientID: "four", ClientHost: "/127.0.0.1", Topics: []string{}, Expression: text("t[0-9]"), RebalanceTimeoutMs: 300000,
		}},
		{93, ConsumerKey{KindExpression, "pattern", "t[0-9]"}, &ConsumerExpression{
			Topics: []string{"t1", "t2"}, Version: 405, TimestampMs: 1795987126583,
		}},
		{111, ConsumerKey{KindExpression, "pattern", "t[0-9]"}, nil},
		{112, ConsumerKey{KindGroup, "pattern", ""}, &ConsumerGroup{Epoch: 3}},
		{119, ConsumerKey{KindTopics, "pattern", ""}, nil},
	} {
		e, err := Decode(records[c.offset])
		if err != nil || e.Consumer == nil {
			t.Errorf("offset %d: %+v, %v", c.offset, e, err)
			continue
		}
		if *e.Consumer != c.key || !reflect.DeepEqual(e.Value, c.want) {
			t.Errorf("offset %d: %+v = %+v, want %+v = %+v", c.offset, *e.Consumer, e.Value, c.key, c.want)
		}
	}
}

func TestAMemberOfTheClassicProtocolHasItsSessionAndProtocols(t *testing.T) {
	for _, r := range written(t, "testdata/kafka-4.3.1-consumer.log") {
		e, err := Decode(r)
		if err != nil {
			t.Fatal(err)
		}
		m, isMember := e.Value.(*ConsumerMember)
		if !isMember || m.Classic == nil {
			continue
		}
		if m.ClientID != "three" || m.Classic.SessionTimeoutMs != 10000 || len(m.Classic.Protocols) != 1 || m.Classic.Protocols[0].Name != "cooperative-sticky" {
			t.Errorf("%+v with %+v", m, m.Classic)
		}
		return
	}
	t.Error("none was found")
}

func TestWhatKafka40KeptOfTopicsIsRead(t *testing.T) {
	want := &ConsumerTopics{Topics: []ConsumerTopic{{
		ID: model.TopicID{15: 200}, Name: "t", Partitions: 1, Racks: []PartitionRacks{{Partition: 0, Racks: []string{"r"}}},
	}}}
	// facts/records.md: version, list of (uuid, string, int32, list of (int32, list of strings)), each with its tags.
	value := []byte{
		0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 200, 2, 't', 0, 0, 0, 1,
		2, 0, 0, 0, 0, 2, 2, 'r', 0, 0, 0,
	}
	e, err := Decode(coordinator.Record{Key: []byte{0, 4, 0, 1, 'g'}, Value: value})
	if err != nil || !reflect.DeepEqual(e.Value, Value(want)) {
		t.Fatalf("%+v, %v", e.Value, err)
	}
}

func topicID(t *testing.T, text string) model.TopicID {
	t.Helper()
	id, err := model.ParseUUID(text)
	if err != nil {
		t.Fatal(err)
	}
	return id
}
