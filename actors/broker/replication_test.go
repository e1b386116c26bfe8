package broker

import (
	"testing"

	"troupe/actors/replica"
	"troupe/cluster/image"
	"troupe/cluster/record"
	"troupe/internal/model"
)

func TestWhoMayBeInSync(t *testing.T) {
	e, topic := image.Empty("cluster").Edit(), model.TopicID{1}
	records := []record.Record{
		&record.Topic{Name: "t", ID: topic},
		&record.Partition{TopicID: topic, Replicas: []model.BrokerID{1, 2, 3, 4, 5, 6}, ISR: []model.BrokerID{1}, Leader: 1, Directories: []model.DirectoryID{
			{10}, {20}, {31}, {40}, {50}, model.DirectoryUnassigned,
		}},
	}
	for id := range model.BrokerID(6) {
		records = append(records, &record.RegisterBroker{
			BrokerID: id + 1, BrokerEpoch: 8, Fenced: id+1 == 4, InControlledShutdown: id+1 == 5, LogDirs: []model.DirectoryID{{10 * byte(id+1)}},
		})
	}
	for i, r := range records {
		if err := e.Apply(model.Offset(i), 1, r); err != nil {
			t.Fatal(err)
		}
	}
	i, _ := e.Publish()
	h := replica.NewHandle(model.TopicPartition{Topic: "t"}, topic, nil, nil)
	for _, c := range []struct {
		title string
		id    model.BrokerID
		epoch model.BrokerEpoch
		may   bool
	}{
		{"it serves", 2, 8, true},
		{"its epoch is not known", 2, -1, true},
		{"the process is another one", 2, 7, false},
		{"its directory has failed", 3, 8, false},
		{"it is fenced", 4, 8, false},
		{"it stops", 5, 8, false},
		{"where its replica lies is not known yet", 6, 8, true},
		{"nobody knows it", 7, 8, false},
	} {
		if may := mayBeInSync(i, h, c.id, c.epoch); may != c.may {
			t.Errorf("%s: it may be in sync: %v", c.title, may)
		}
	}
	other := replica.NewHandle(model.TopicPartition{Topic: "t"}, model.TopicID{2}, nil, nil)
	if !mayBeInSync(i, other, 3, 8) {
		t.Error("a directory counts for a topic that is not in it")
	}
}
