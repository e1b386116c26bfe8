package image_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"troupe/cluster/image"
	"troupe/cluster/record"
	"troupe/internal/model"
)

// world draws records that fit what came before, and keeps in plain maps what they should give.
type world struct {
	t       *rapid.T
	topics  map[string]model.TopicID
	parts   map[model.TopicID]int
	brokers map[model.BrokerID]model.BrokerEpoch
	serial  byte
}

func newWorld(t *rapid.T) *world {
	return &world{t: t, topics: map[string]model.TopicID{}, parts: map[model.TopicID]int{}, brokers: map[model.BrokerID]model.BrokerEpoch{}}
}

func (w *world) topic() (string, model.TopicID, bool) {
	names := make([]string, 0, len(w.topics))
	for name := range w.topics {
		names = append(names, name)
	}
	if len(names) == 0 {
		return "", model.TopicID{}, false
	}
	slices.Sort(names)
	name := rapid.SampledFrom(names).Draw(w.t, "topic")
	return name, w.topics[name], true
}

func (w *world) ids(label string) []model.BrokerID {
	return rapid.SliceOfNDistinct(rapid.Map(rapid.Int32Range(1, 5), func(i int32) model.BrokerID { return model.BrokerID(i) }), 0, 3,
		func(b model.BrokerID) model.BrokerID { return b }).Draw(w.t, label)
}

// next draws one record.
func (w *world) next() record.Record {
	t := w.t
	name := rapid.SampledFrom([]string{"a", "b.c", "b_c", "d"}).Draw(t, "name")
	switch rapid.IntRange(0, 15).Draw(t, "kind") {
	case 0, 1:
		if _, taken := w.topics[name]; !taken {
			w.serial++
			w.topics[name] = model.TopicID{0: w.serial}
			return &record.Topic{Name: name, ID: w.topics[name]}
		}
	case 2, 3:
		if _, id, ok := w.topic(); ok {
			w.parts[id]++
			return &record.Partition{
				PartitionID: int32(w.parts[id] - 1), TopicID: id, Replicas: w.ids("replicas"), ISR: w.ids("isr"),
				Leader: 1, LeaderEpoch: 3, PartitionEpoch: 4, EligibleLeaderReplicas: w.ids("elr"), LastKnownELR: w.ids("last"),
				AddingReplicas: w.ids("adding"), RemovingReplicas: w.ids("removing"), Directories: []model.DirectoryID{{9}},
			}
		}
	case 4, 5:
		if _, id, ok := w.topic(); ok && w.parts[id] > 0 {
			c := record.NewPartitionChange(rapid.Int32Range(0, int32(w.parts[id]-1)).Draw(t, "partition"), id)
			if rapid.Bool().Draw(t, "set isr") {
				c.ISR = w.ids("new isr")
			}
			if rapid.Bool().Draw(t, "set leader") {
				c.Leader = model.BrokerID(rapid.Int32Range(-1, 3).Draw(t, "leader"))
			}
			return c
		}
	case 6:
		if name, id, ok := w.topic(); ok {
			delete(w.topics, name)
			return &record.RemoveTopic{ID: id}
		}
	case 7, 8:
		value := rapid.SampledFrom([]string{"1", "2"}).Draw(t, "value")
		c := &record.Config{ResourceType: rapid.SampledFrom([]int8{2, 4}).Draw(t, "type"), ResourceName: name, Name: rapid.SampledFrom([]string{"k", "l"}).Draw(t, "key")}
		if rapid.Bool().Draw(t, "set") {
			c.Value = &value
		}
		return c
	case 9:
		id := model.BrokerID(rapid.Int32Range(1, 3).Draw(t, "broker"))
		w.serial++
		w.brokers[id] = model.BrokerEpoch(w.serial)
		return &record.RegisterBroker{BrokerID: id, BrokerEpoch: w.brokers[id], Fenced: true, LogDirs: []model.DirectoryID{{byte(id)}}}
	case 10:
		for id := model.BrokerID(1); id <= 3; id++ {
			if epoch, ok := w.brokers[id]; ok {
				return &record.BrokerRegistrationChange{BrokerID: id, BrokerEpoch: epoch, Fenced: -1}
			}
		}
	case 11:
		return &record.ProducerIDs{NextProducerID: model.ProducerID(rapid.Int64Range(1, 9000).Draw(t, "id"))}
	case 12:
		return &record.FeatureLevel{Name: rapid.SampledFrom([]string{"group.version", "x"}).Draw(t, "feature"), Level: rapid.Int16Range(0, 2).Draw(t, "level")}
	case 13:
		return &record.ClientQuota{Entity: []record.QuotaEntity{{Type: "user"}, {Type: "client-id", Name: &name}}, QuotaKey: "k", Value: 1.5, Remove: rapid.Bool().Draw(t, "remove")}
	case 14:
		return &record.UserScramCredential{Name: name, Mechanism: 1, Salt: []byte{1}, StoredKey: []byte{2}, ServerKey: []byte{3}, Iterations: 4096}
	case 15:
		return &record.ClearElr{}
	}
	return &record.NoOp{}
}

func apply(t *rapid.T, e *image.Editor, offset int, r record.Record) {
	if err := e.Apply(model.Offset(offset), 1, r); err != nil {
		t.Fatal(err)
	}
}

// An image written out as records and read back is the same image.
func TestACheckpointGivesTheImageBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		e := image.Empty("c").Edit()
		for i := range rapid.IntRange(0, 80).Draw(t, "records") {
			apply(t, e, i, w.next())
		}
		i, _ := e.Publish()
		back := image.Empty("c").Edit()
		for r := range i.Records() {
			apply(t, back, int(i.Offset), r)
		}
		again, delta := back.Publish()
		if !again.Equal(i) || !i.Equal(again) {
			t.Fatal("the records give another image")
		}
		if delta.From.TopicCount() != 0 || len(delta.Topics) != i.TopicCount() || i.TopicCount() != len(w.topics) {
			t.Fatalf("%d topics are new, the image has %d, the records made %d", len(delta.Topics), i.TopicCount(), len(w.topics))
		}
		count := 0
		for name, id := range w.topics {
			byName, ok := i.Topic(name)
			byID, ok2 := i.TopicByID(id)
			if !ok || !ok2 || byName != byID || len(byName.Partitions) != w.parts[id] {
				t.Fatalf("topic %s: %+v by name, %+v by id", name, byName, byID)
			}
			count += w.parts[id]
		}
		if i.PartitionCount() != count {
			t.Fatalf("%d partitions are counted, there are %d", i.PartitionCount(), count)
		}
	})
}

// However the records are cut into publications and transactions, the image is the same, images published before do not
// change, and the deltas name what changed.
func TestReplayDoesNotDependOnWhereItIsCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		whole, cut := image.Empty("c").Edit(), image.Empty("c").Edit()
		var published []*image.Image
		var copies [][]byte
		offset := 0
		for range rapid.IntRange(0, 40).Draw(t, "groups") {
			group := make([]record.Record, rapid.IntRange(1, 4).Draw(t, "records"))
			for i := range group {
				group[i] = w.next()
			}
			wrapped := rapid.Bool().Draw(t, "transaction")
			if wrapped {
				group = append(append([]record.Record{&record.BeginTransaction{}}, group...), &record.EndTransaction{})
			}
			start := model.Offset(offset)
			for i, r := range group {
				apply(t, whole, offset, r)
				apply(t, cut, offset, r)
				offset++
				if !rapid.Bool().Draw(t, "publish") {
					continue
				}
				i0, delta := cut.Publish()
				if wrapped && i < len(group)-1 && i0.Offset >= start {
					t.Fatalf("offset %d of a transaction that began at %d was published", i0.Offset, start)
				}
				checkDelta(t, delta)
				published, copies = append(published, i0), append(copies, dump(t, i0))
			}
		}
		a, _ := whole.Publish()
		b, _ := cut.Publish()
		if !a.Equal(b) || a.Offset != b.Offset {
			t.Fatal("the images differ")
		}
		for i := range published {
			if string(dump(t, published[i])) != string(copies[i]) {
				t.Fatal("a published image changed")
			}
		}
	})
}

func dump(t *rapid.T, i *image.Image) []byte {
	var b []byte
	var err error
	for r := range i.Records() {
		if b, err = record.Append(b, r, record.LatestMetadataVersion); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// checkDelta compares what a delta names with what a full comparison of its images finds.
func checkDelta(t *rapid.T, d image.Delta) {
	full := image.Diff(d.From, d.To)
	name := func(list []image.TopicDelta) string {
		s := ""
		for _, x := range list {
			s += fmt.Sprintf("%s %v %v;", x.Name(), x.Before != nil, x.After != nil)
		}
		return s
	}
	if a, b := name(d.Topics), name(full.Topics); a != b {
		t.Fatalf("the delta names topics %s, the images differ in %s", a, b)
	}
	if fmt.Sprint(d.Brokers, d.Configs, d.Features) != fmt.Sprint(full.Brokers, full.Configs, full.Features) {
		t.Fatalf("the delta names %v %v %v, the images differ in %v %v %v", d.Brokers, d.Configs, d.Features, full.Brokers, full.Configs, full.Features)
	}
}

func TestAnAbortedTransactionLeavesNothing(t *testing.T) {
	e := image.Empty("c").Edit()
	records := []record.Record{
		&record.Topic{Name: "kept", ID: model.TopicID{1}}, &record.BeginTransaction{},
		&record.Topic{Name: "dropped", ID: model.TopicID{2}}, &record.RemoveTopic{ID: model.TopicID{1}}, &record.AbortTransaction{},
	}
	for i, r := range records {
		if err := e.Apply(model.Offset(i), 1, r); err != nil {
			t.Fatal(err)
		}
	}
	i, _ := e.Publish()
	_, kept := i.Topic("kept")
	_, dropped := i.Topic("dropped")
	if !kept || dropped || i.Offset != 4 || e.InTransaction() {
		t.Errorf("kept %v, dropped %v, offset %d", kept, dropped, i.Offset)
	}
}

func TestRecordsThatDoNotFitAreRefused(t *testing.T) {
	id := model.TopicID{1}
	for _, c := range []struct {
		title  string
		before []record.Record
		bad    record.Record
	}{
		{"a topic twice", []record.Record{&record.Topic{Name: "a", ID: id}}, &record.Topic{Name: "a", ID: model.TopicID{2}}},
		{"an id twice", []record.Record{&record.Topic{Name: "a", ID: id}}, &record.Topic{Name: "b", ID: id}},
		{"a partition of no topic", nil, &record.Partition{TopicID: id}},
		{"a hole in the partitions", []record.Record{&record.Topic{Name: "a", ID: id}}, &record.Partition{TopicID: id, PartitionID: 1}},
		{"a change of no partition", []record.Record{&record.Topic{Name: "a", ID: id}}, record.NewPartitionChange(0, id)},
		{"the removal of no topic", nil, &record.RemoveTopic{ID: id}},
		{"a change of no broker", nil, &record.BrokerRegistrationChange{BrokerID: 1}},
		{"a change of an older broker", []record.Record{&record.RegisterBroker{BrokerID: 1, BrokerEpoch: 2}}, &record.FenceBroker{ID: 1, Epoch: 1}},
		{"an end without a beginning", nil, &record.EndTransaction{}},
		{"a transaction in a transaction", []record.Record{&record.BeginTransaction{}}, &record.BeginTransaction{}},
		{"a metadata.version of a newer software", nil, &record.FeatureLevel{Name: image.MetadataVersionFeature, Level: 31}},
	} {
		e := image.Empty("c").Edit()
		for i, r := range c.before {
			if err := e.Apply(model.Offset(i), 1, r); err != nil {
				t.Fatal(err)
			}
		}
		var replay *image.ReplayError
		if err := e.Apply(7, 1, c.bad); !errors.As(err, &replay) || replay.Offset != 7 {
			t.Errorf("%s: %v", c.title, err)
		}
	}
}

func TestEpochsRiseAsTheyShould(t *testing.T) {
	// facts/replication.md 1: the partition epoch on every change, the leader epoch when the leader is set.
	e := image.Empty("c").Edit()
	id := model.TopicID{1}
	step := func(r record.Record) (model.LeaderEpoch, model.PartitionEpoch) {
		if err := e.Apply(0, 1, r); err != nil {
			t.Fatal(err)
		}
		i, _ := e.Publish()
		p, ok := i.Partition(model.TopicPartition{Topic: "a"})
		if !ok {
			return -1, -1
		}
		return p.LeaderEpoch, p.Epoch
	}
	step(&record.Topic{Name: "a", ID: id})
	step(&record.Partition{TopicID: id, Leader: 1, Replicas: []model.BrokerID{1, 2}, ISR: []model.BrokerID{1, 2}})
	shrink := record.NewPartitionChange(0, id)
	shrink.ISR = []model.BrokerID{1}
	if l, p := step(shrink); l != 0 || p != 1 {
		t.Errorf("after a shrink: leader epoch %d, partition epoch %d", l, p)
	}
	same := record.NewPartitionChange(0, id)
	same.Leader = 1
	if l, p := step(same); l != 1 || p != 2 {
		t.Errorf("after the leader was set again: leader epoch %d, partition epoch %d", l, p)
	}
}

func TestNamesThatOnlyDotsTellApartCollide(t *testing.T) {
	e := image.Empty("c").Edit()
	for i, name := range []string{"a.b", "plain"} {
		if err := e.Apply(model.Offset(i), 1, &record.Topic{Name: name, ID: model.TopicID{byte(i + 1)}}); err != nil {
			t.Fatal(err)
		}
	}
	i, _ := e.Publish()
	for name, want := range map[string]string{"a_b": "a.b", "a.b": "", "plain": "", "a.b.c": ""} {
		if other, ok := i.Collision(name); other != want || ok != (want != "") {
			t.Errorf("%s collides with %q", name, other)
		}
	}
	if err := e.Apply(2, 1, &record.RemoveTopic{ID: model.TopicID{1}}); err != nil {
		t.Fatal(err)
	}
	i, _ = e.Publish()
	if other, ok := i.Collision("a_b"); ok {
		t.Errorf("a_b collides with %s, which was deleted", other)
	}
}

func TestAChangeCostsWhatItChanges(t *testing.T) {
	e := image.Empty("c").Edit()
	for n := range 10_000 {
		id := model.TopicID{byte(n >> 8), byte(n), 1}
		for _, r := range []record.Record{&record.Topic{Name: fmt.Sprint("t", n), ID: id}, &record.Partition{TopicID: id}} {
			if err := e.Apply(0, 1, r); err != nil {
				t.Fatal(err)
			}
		}
	}
	e.Publish()
	change := record.NewPartitionChange(0, model.TopicID{5, 5, 1})
	change.Leader = 1
	// Two trees of 10,000 keys are at most 19 levels high (1.44 log2 n): so many nodes are copied in each.
	allocations := testing.AllocsPerRun(100, func() {
		if err := e.Apply(0, 1, change); err != nil {
			t.Fatal(err)
		}
		e.Publish()
	})
	if allocations > 2*19+20 {
		t.Errorf("%v allocations for one partition", allocations)
	}
}
