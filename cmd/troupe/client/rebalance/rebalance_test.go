package rebalance

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"troupe/cluster/rebalance"
	"troupe/cmd/troupe/client/option"
	"troupe/internal/model"
)

func TestAPlanSaysWhatIsCopiedAndWhatOnlyChangesItsLeader(t *testing.T) {
	var out bytes.Buffer
	s := option.Streams{Out: &out}
	if err := tell(s, []rebalance.Move{
		{TopicPartition: model.TopicPartition{Topic: "a", Partition: 0}, From: []model.BrokerID{1, 2}, To: []model.BrokerID{3, 2}},
		{TopicPartition: model.TopicPartition{Topic: "a", Partition: 1}, From: []model.BrokerID{1, 2}, To: []model.BrokerID{2, 1}},
		{TopicPartition: model.TopicPartition{Topic: "b", Partition: 0}, From: []model.BrokerID{1}, To: []model.BrokerID{1, 2, 3}},
	}, []model.TopicPartition{{Topic: "c"}}); err != nil {
		t.Fatal(err)
	}
	want := "a-0\t[1 2] -> [3 2]\tcopied to [3]\na-1\t[1 2] -> [2 1]\tleader\nb-0\t[1] -> [1 2 3]\tcopied to [2 3]\n" +
		"partitions led by another than their first replica, which return to it: 1\n3 partitions change, 3 replicas are copied.\n"
	if out.String() != want {
		t.Errorf("told\n%s\nwant\n%s", out.String(), want)
	}
}

func TestThrottledReplicasAreListedByPartition(t *testing.T) {
	if got := listed(listed("", 0, []int32{1, 2}), 3, []int32{4}); got != "0:1,0:2,3:4" {
		t.Errorf("listed %s", got)
	}
	if got := listed("0:1", 1, nil); got != "0:1" {
		t.Errorf("listed %s", got)
	}
}

// The process ends by the signal and prints no error after an interrupt.
func TestWhatIsLeftAfterAnInterruptIsSaidAtOnce(t *testing.T) {
	const left = "troupe rebalance: the throttle is still set: no broker; reassign-partitions --verify takes it back"
	for _, tt := range []struct {
		title          string
		throttle       int64
		interrupted    bool
		err, undone    error
		printed, error string
	}{
		{"an interrupt", -1, true, context.Canceled, nil,
			"troupe rebalance: stopped; moves that have begun go on (reassign-partitions --list), and the next call plans the rest\n", ""},
		{"an interrupt under a throttle", 1, true, context.Canceled, nil,
			"troupe rebalance: stopped; moves that have begun go on without the throttle (reassign-partitions --list), and the next call plans the rest\n", ""},
		{"a throttle that stays after an interrupt", 1, true, context.Canceled, errors.New("no broker"),
			"troupe rebalance: stopped; moves that have begun go on (reassign-partitions --list), and the next call plans the rest\n" + left + "\n", ""},
		{"a throttle that stays after a failure", 1, false, errors.New("a-0: no"), errors.New("no broker"), "", "troupe rebalance: a-0: no\n" + left},
		{"a throttle that stays", 1, false, nil, errors.New("no broker"), "", left},
	} {
		t.Run(tt.title, func(t *testing.T) {
			var errs bytes.Buffer
			e := &execution{streams: option.Streams{Err: &errs}, orders: &orders{throttle: tt.throttle}, moves: make([]rebalance.Move, 1)}
			err := e.ended(tt.interrupted, tt.err, tt.undone)
			if errs.String() != tt.printed || err == nil || err.Error() != tt.error {
				t.Errorf("printed %q and ended with %q, want %q and %q", errs.String(), err, tt.printed, tt.error)
			}
		})
	}
}
