package controller

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
	"troupe/internal/model"
)

// What tells an operator how long a voter has been behind must not be lost with what it is behind.
func TestAVoterThatIsCutOffIsToldOfByWhenItLastHadAll(t *testing.T) {
	for seed := range uint64(6) {
		w := newDynamicWorld(t, seed, 3)
		lead, away := w.leaderAndAnother()
		w.run(time.Second)
		w.isolate(away)
		cut := w.clock.Now()
		w.run(100 * time.Millisecond) // what is on the way arrives
		if code := w.created(lead.create("meanwhile"), 3*time.Second); code != 0 {
			t.Fatalf("seed %d: the topic is answered by code %d", seed, code)
		}
		w.run(time.Second)
		req := kmsg.NewPtrDescribeQuorumRequest()
		topic := kmsg.NewDescribeQuorumRequestTopic()
		topic.Topic, topic.Partitions = metadataTopic.Topic, []kmsg.DescribeQuorumRequestTopicPartition{{}}
		req.Version, req.Topics = req.MaxVersion(), append(req.Topics, topic)
		answer := lead.ask(req)
		w.until("the quorum is described", time.Second, func() bool { return len(answer) > 0 })
		told := (<-answer).(*kmsg.DescribeQuorumResponse).Topics[0].Partitions[0]
		if told.ErrorCode != int16(kerr.None) {
			t.Fatalf("seed %d: answered by code %d", seed, told.ErrorCode)
		}
		for _, v := range told.CurrentVoters {
			had := time.UnixMilli(v.LastCaughtUpTimestamp)
			if v.ReplicaID == int32(away.id) && (had.Before(cut.Add(-500*time.Millisecond)) || had.After(cut.Add(100*time.Millisecond))) {
				t.Errorf("seed %d: it had all %s after it was cut off", seed, had.Sub(cut))
			}
			if v.ReplicaID != int32(away.id) && had.Before(w.clock.Now().Add(-500*time.Millisecond)) {
				t.Errorf("seed %d: node %d had all %s ago", seed, v.ReplicaID, w.clock.Now().Sub(had))
			}
		}
	}
}

// The rule of Kafka's followers: who asks for what was the end when it asked before had all then.
func TestAVoterHasAllThatThereWasWhenItWasHeardOfBefore(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	var r logCopy
	for _, heard := range []struct {
		title          string
		end, leaderEnd model.Offset
		now, had       time.Time
	}{
		{"it begins", 0, 10, at(1), time.Time{}},
		{"it has less than there was", 9, 12, at(2), time.Time{}},
		{"it has what there was", 12, 15, at(3), at(2)},
		{"it has all", 15, 15, at(4), at(4)},
		{"it has all that there was again", 15, 20, at(5), at(4)},
		{"it has nothing more", 15, 20, at(6), at(4)},
	} {
		if r.heard(heard.end, heard.leaderEnd, heard.now); !r.caughtUp.Equal(heard.had) || !r.fetched.Equal(heard.now) {
			t.Errorf("%s: it had all at %s, want %s", heard.title, r.caughtUp, heard.had)
		}
	}
}
