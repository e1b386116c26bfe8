package controller

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cluster/image"
	"troupe/codec/kerr"
	"troupe/configs"
)

func TestThreeControllersElectOneAndGoOnWithoutAnyOfThem(t *testing.T) {
	for killed := 1; killed <= 3; killed++ {
		t.Run(fmt.Sprint("without ", killed), func(t *testing.T) {
			w := newWorld(t, uint64(killed), 3)
			lead := w.elected(2 * time.Second)
			for _, n := range w.nodes {
				w.register(n)
			}
			if code := w.created(lead.create("before"), time.Second); code != 0 {
				t.Fatalf("code %d", code)
			}
			w.same()
			gone := w.nodes[killed-1]
			gone.kill(true)
			lead = w.elected(time.Second)
			if code := w.created(lead.create("after"), time.Second); code != int16(kerr.None) {
				t.Fatalf("code %d", code)
			}
			gone.start()
			w.run(500 * time.Millisecond)
			w.same()
			if names := gone.names(); !slices.Equal(names, []string{"after", "before"}) {
				t.Errorf("who came back has topics %v", names)
			}
		})
	}
}

func TestALeaderWhoseProcessEndsIsReplacedInAnInstant(t *testing.T) {
	var longest time.Duration
	for seed := range uint64(40) {
		w := newWorld(t, seed, 3)
		lead := w.elected(2 * time.Second)
		for _, n := range w.nodes {
			w.register(n)
		}
		lead.kill(true)
		took := w.until("another one leads", time.Second, func() bool { return w.leader() != nil })
		longest = max(longest, took)
		next := w.leader()
		w.until("the dead broker is fenced", 100*time.Millisecond, func() bool {
			b, ok := next.source.Image().Broker(lead.id)
			return ok && b.Fenced
		})
	}
	t.Logf("at the most %s", longest)
	if longest > 150*time.Millisecond {
		t.Errorf("took %s", longest)
	}
}

func TestARequestGoesToTheLeaderAndItsChangeIsThereWhenItIsAnswered(t *testing.T) {
	w := newWorld(t, 7, 3)
	lead := w.elected(2 * time.Second)
	for _, n := range w.nodes {
		w.register(n)
	}
	for _, n := range w.nodes {
		name := fmt.Sprint("asked-of-", n.id)
		answer := n.create(name)
		w.until("the answer comes", time.Second, func() bool { return len(answer) > 0 })
		// At this very moment: the client's next request may name the topic.
		if !slices.Contains(n.names(), name) {
			t.Errorf("node %d, of which %d is the leader, does not know %s", n.id, lead.id, name)
		}
		if code := w.created(answer, 0); code != 0 {
			t.Errorf("code %d", code)
		}
	}
}

// Its disk is slow, and the metadata comes later than the controller's answer. By the smaller number it would commit alone.
func TestALeaderIsToldOfAnISRWhenItKnowsTheSettingsThatItWasDecidedBy(t *testing.T) {
	for _, slow := range []time.Duration{100 * time.Millisecond, 2 * applyMax} {
		w := newWorld(t, 11, 3)
		lead := w.elected(2 * time.Second)
		for _, n := range w.nodes {
			w.register(n)
		}
		behind := w.besides(lead)
		create := kmsg.NewPtrCreateTopicsRequest()
		create.Version = 7
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = "t", -1, -1
		topic.ReplicaAssignment = []kmsg.CreateTopicsRequestTopicReplicaAssignment{{Replicas: []int32{int32(behind.id), int32(lead.id)}}}
		create.Topics = []kmsg.CreateTopicsRequestTopic{topic}
		if code := w.created(behind.ask(create), time.Second); code != 0 {
			t.Fatalf("code %d", code)
		}
		behind.slow = slow
		larger := kmsg.NewPtrIncrementalAlterConfigsRequest()
		two := "2"
		larger.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "t",
			Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: "min.insync.replicas", Value: &two}}}}
		set := lead.ask(larger)
		w.until("the setting is recorded", time.Second, func() bool { return len(set) > 0 })
		answer := behind.ask(behind.shrink("t"))
		w.until("the leader is answered", 2*time.Second, func() bool { return len(answer) > 0 })
		has, _ := behind.source.Image().Config(image.ConfigResource{Type: image.TopicResource, Name: "t"}).Get("min.insync.replicas")
		code := kerr.Code((<-answer).(*kmsg.AlterPartitionResponse).ErrorCode)
		switch {
		case slow < applyMax && (has != two || code != kerr.None):
			t.Errorf("it is answered by %s with min.insync.replicas %q", code.Name(), has)
		case slow > applyMax && (has == two || code != kerr.NotController):
			t.Errorf("it waited too long, is answered by %s with min.insync.replicas %q", code.Name(), has)
		}
	}
}

// shrink is the proposal of the node, which leads, to be alone in the ISR.
func (n *node) shrink(topic string) *kmsg.AlterPartitionRequest {
	of, _ := n.source.Image().Topic(topic)
	self, _ := n.source.Image().Broker(n.id)
	p := kmsg.NewAlterPartitionRequestTopicPartition()
	p.LeaderEpoch, p.PartitionEpoch = int32(of.Partitions[0].LeaderEpoch), int32(of.Partitions[0].Epoch)
	p.NewEpochISR = []kmsg.AlterPartitionRequestTopicPartitionNewEpochISR{{BrokerID: int32(n.id), BrokerEpoch: int64(self.Epoch)}}
	req := kmsg.NewPtrAlterPartitionRequest()
	req.Version, req.BrokerID, req.BrokerEpoch = req.MaxVersion(), int32(n.id), int64(self.Epoch)
	req.Topics = []kmsg.AlterPartitionRequestTopic{{TopicID: of.ID, Partitions: []kmsg.AlterPartitionRequestTopicPartition{p}}}
	return req
}

func TestRequestsWaitForTheNextLeader(t *testing.T) {
	w := newWorld(t, 8, 3)
	lead := w.elected(2 * time.Second)
	for _, n := range w.nodes {
		w.register(n)
	}
	other := w.besides(lead)
	lead.kill(false)
	answer := other.create("patient")
	if code := w.created(answer, time.Second); code != 0 {
		t.Errorf("code %d", code)
	}
	// Nobody can lead now: the request is refused when it has waited long enough.
	for _, n := range w.nodes {
		if n.order != nil && n != other {
			n.kill(false)
		}
	}
	w.run(500 * time.Millisecond)
	answer = other.create("in vain")
	took := w.until("the answer comes", 2*waitMax, func() bool { return len(answer) > 0 })
	if code := w.created(answer, 0); code != int16(kerr.NotController) || took < waitMax || took > waitMax+time.Second {
		t.Errorf("code %d after %s", code, took)
	}
}

func TestALeaderThatStopsHandsOver(t *testing.T) {
	w := newWorld(t, 9, 3)
	lead := w.elected(2 * time.Second)
	done := make(chan struct{})
	lead.actor.Send(&HandOver{Done: func() { close(done) }})
	took := w.until("the leadership is handed over", time.Second, func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	})
	if took > 20*time.Millisecond {
		t.Errorf("took %s", took)
	}
	took = w.until("another one leads", time.Second, func() bool { return w.leader() != nil && w.leader() != lead })
	if took > 50*time.Millisecond {
		t.Errorf("the next one needed %s more", took)
	}
}

// A leader that is cut off goes on writing what nobody else gets; another one writes something else at the same offsets.
func TestWhatACutOffLeaderWroteIsTruncatedWhenItComesBack(t *testing.T) {
	for seed := range uint64(10) {
		w := newWorld(t, seed, 3)
		old := w.elected(2 * time.Second)
		for _, n := range w.nodes {
			w.register(n)
		}
		if code := w.created(old.create("agreed"), time.Second); code != 0 {
			t.Fatalf("code %d", code)
		}
		w.isolate(old)
		lost := old.create("lost")
		var next *node
		w.until("another one leads", 2*time.Second, func() bool {
			for _, n := range w.nodes {
				if n != old && n.board.Status().Active {
					next = n
				}
			}
			return next != nil
		})
		w.until("who is cut off leads no more", time.Second, func() bool { return !old.board.Status().Active })
		if code := w.created(next.create("kept"), time.Second); code != 0 {
			t.Fatalf("code %d", code)
		}
		clear(w.cut)
		// The change was not acknowledged and is taken once more, by the leader that there is now.
		if code := w.created(lost, 2*time.Second); code != 0 {
			t.Errorf("code %d", code)
		}
		w.same()
		if names := old.names(); !slices.Equal(names, []string{"agreed", "kept", "lost"}) {
			t.Errorf("who was cut off has topics %v", names)
		}
		old.kill(true)
		old.start()
		w.run(time.Second)
		w.same()
	}
}

func TestAControllerThatIsFarBehindGetsACheckpoint(t *testing.T) {
	for seed := range uint64(5) {
		w := newWorld(t, seed, 3, func(c *configs.Broker) { c.Metadata.SnapshotBytes = 1000 })
		lead := w.elected(2 * time.Second)
		for _, n := range w.nodes {
			w.register(n)
		}
		behind := w.besides(lead)
		w.isolate(behind)
		for i := range 30 {
			if code := w.created(lead.create(fmt.Sprint("topic-", i)), time.Second); code != 0 {
				t.Fatalf("code %d", code)
			}
			if i == 10 || i == 20 { // the log goes as far as the checkpoint before the last
				w.run(time.Second)
			}
		}
		had := behind.checkpoints()
		clear(w.cut)
		w.same()
		if slices.Equal(had, behind.checkpoints()) {
			t.Error("it came without a checkpoint")
		}
		if n := len(behind.names()); n != 30 {
			t.Errorf("%d topics came", n)
		}
		behind.kill(true)
		behind.start()
		w.run(time.Second)
		w.same()
		if n := len(behind.names()); n != 30 {
			t.Errorf("%d topics are left after a crash", n)
		}
	}
}
