package metadata

import (
	"fmt"
	"testing"

	"troupe/actors/journal"
	"troupe/cluster/record"
	"troupe/internal/model"
)

func TestTheLogTellsWhatBecomesOfTheOtherBrokers(t *testing.T) {
	register := func(id model.BrokerID, epoch model.BrokerEpoch) record.Record {
		return &record.RegisterBroker{BrokerID: id, BrokerEpoch: epoch, Fenced: true}
	}
	change := func(id model.BrokerID, epoch model.BrokerEpoch, fenced, stops int8) record.Record {
		return &record.BrokerRegistrationChange{BrokerID: id, BrokerEpoch: epoch, Fenced: fenced, InControlledShutdown: stops}
	}
	told := func(kind journal.Kind, id int) string { return fmt.Sprintf("told of %d: %d", kind, id) }
	s := newStage(t)
	s.deps.Journal = journal.To(s.deps.Shards[0])
	s.actor = s.system.Spawn("telling", New(s.deps))
	s.apply(s.topics(10), true)
	s.expect("settled with 0", "then -1")
	offset := model.Offset(11)
	for i, step := range []struct {
		records []record.Record
		want    []string
	}{
		{[]record.Record{register(1, 11)}, nil}, // alone
		{[]record.Record{change(1, 11, -1, 0)}, nil},
		{[]record.Record{register(2, 13)}, nil},
		{[]record.Record{change(2, 13, -1, 0)}, []string{told(journal.BrokerServes, 2)}},
		{[]record.Record{change(2, 13, 1, 0)}, []string{told(journal.BrokerFenced, 2)}},
		{[]record.Record{change(2, 13, -1, 0)}, []string{told(journal.BrokerServes, 2)}},
		{[]record.Record{change(2, 13, 0, 1)}, []string{told(journal.BrokerStopping, 2)}},
		{[]record.Record{change(2, 13, 1, 0)}, []string{told(journal.BrokerFenced, 2)}},
		{[]record.Record{register(2, 19)}, nil}, // fenced as before
		{[]record.Record{change(2, 19, -1, 0)}, []string{told(journal.BrokerServes, 2)}},
		{[]record.Record{register(2, 21), change(2, 21, -1, 0)}, []string{told(journal.BrokerServes, 2)}}, // another process
		{[]record.Record{&record.UnregisterBroker{BrokerID: 2, BrokerEpoch: 21}}, []string{told(journal.BrokerUnregistered, 2)}},
	} {
		for _, r := range step.records {
			if err := s.editor.Apply(offset, 1, r); err != nil {
				t.Fatal(err)
			}
			offset++
		}
		_, d := s.editor.Publish()
		s.actor.Send(&Apply{Delta: d, Complete: true})
		s.run()
		var got []string
		for _, e := range s.events {
			if len(e) > 7 && e[:7] == "told of" {
				got = append(got, e)
			}
		}
		s.events = nil
		if fmt.Sprint(got) != fmt.Sprint(step.want) {
			t.Errorf("step %d: %q, want %q", i, got, step.want)
		}
	}
}
