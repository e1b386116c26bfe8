package fetcher

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"troupe/actors/replica"
	"troupe/actors/throttle"
	"troupe/cluster/record"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// throttles makes some topics throttled at this broker, with a quota in bytes a second.
func (s *scene) throttles(rate int64, names ...string) {
	s.rate = rate
	for _, n := range names {
		h := s.handle(n)
		s.handles[n] = replica.NewHandle(h.TP, h.TopicID, nil, &replica.Config{FollowerThrottled: throttle.ParseReplicas([]string{"0:9"})})
	}
}

func TestAThrottledPartitionThatLagsIsNotFetchedWhileTheQuotaIsExceeded(t *testing.T) {
	s := newScene(t)
	s.throttles(7, "a")
	s.follow("a", 0)
	s.follow("b", 0)
	s.fetches("0/0 a@0 b@0")
	s.delivers("a@0 b@0", "a^50", "b^50")
	s.wrote("a", 10)
	s.wrote("b", 10)
	s.fetches("7/1 a@10 b@10") // 7 bytes in a window of a second
	s.delivers("a@10 b@10", "a^50", "b^50")
	s.wrote("a", 20)
	s.wrote("b", 20)
	s.fetches("7/2 b@20 -a") // 14
	if at, ok := s.m.wakeAt(s.now); ok {
		t.Errorf("with a fetch on its way it wakes at %s", at)
	}
	s.delivers("b@20", "b^50")
	if at, ok := s.m.wakeAt(s.now); !ok || at.After(s.now.Add(time.Second)) {
		t.Errorf("it wakes %v, after %s", ok, at.Sub(s.now))
	}
	s.wrote("b", 30)
	s.passes(time.Second)
	s.fetches("7/3 b@30") // 14 in one second
	s.delivers("b@30", "b^50")
	s.wrote("b", 40)
	s.passes(time.Second)
	s.fetches("7/4 a@20 b@40") // 14 in two
}

func TestAThrottledPartitionThatHasAllThatIsCommittedIsFetched(t *testing.T) {
	s := newScene(t)
	s.throttles(7, "a")
	s.follow("a", 0)
	for i := range 5 {
		if i == 0 {
			s.fetches("0/0 a@0")
		} else {
			s.fetches(fmt.Sprintf("7/%d a@%d", i, i*10))
		}
		s.delivers(fmt.Sprintf("a@%d", i*10), fmt.Sprintf("a^%d", (i+1)*10))
		s.wrote("a", model.Offset((i+1)*10))
	}
}

func TestNothingIsFetchedWithAQuotaOfNothingUntilItIsRaised(t *testing.T) {
	s := newScene(t)
	s.throttles(7, "a")
	s.follow("a", 0)
	s.fetches("0/0 a@0")
	s.delivers("a@0", "a^50")
	s.wrote("a", 10)
	s.rate = 0
	for range 10 {
		s.fetches("")
		s.passes(time.Second)
	}
	s.rate = throttle.Unlimited
	s.fetches("7/1 a@10")
}

// A move of eight MiB at one MiB a second takes eight seconds, whichever side has the quota. A fetch brings one MiB at most, and
// a rate is taken over a second at least: so much it may be off at any moment.
func TestAThrottledCopyIsAsFastAsItsQuota(t *testing.T) {
	const mib, size = 1 << 20, 8
	for title, limit := range map[string]func(*world){
		"of the leader":   func(w *world) { w.leaderRate = mib },
		"of the follower": func(w *world) { w.followerRate = mib },
	} {
		t.Run(title, func(t *testing.T) {
			w := newWorld(t, 1, func(w *world) {
				w.config.SegmentBytes, w.config.Log.SegmentBytes = 64*mib, 64*mib
				w.config.LeaderThrottled = throttle.ParseReplicas([]string{"0:1", "0:2"})
				w.config.FollowerThrottled = throttle.ParseReplicas([]string{"0:3"})
			})
			w.cut[[2]model.BrokerID{3, 1}] = true
			value := strings.Repeat("x", mib/8-100)
			for range 8 * size {
				w.produce(value)
				w.run()
			}
			w.pass(2 * lagMax) // broker 3 leaves the ISR
			w.apply(&record.Partition{TopicID: topicID, Replicas: w.ids, ISR: w.state.ISR, Leader: 1})
			limit(w)
			clear(w.cut)
			end := w.brokers[1].process.handle.View().LogEnd
			copied := func() float64 {
				return float64(w.brokers[3].process.handle.View().LogEnd) / float64(end) * size // in MiB, but for a thousandth
			}
			w.pass(2 * time.Second)
			w.produce("beside it") // those in sync are not held back
			w.pass(200 * time.Millisecond)
			if last := w.sent[len(w.sent)-1]; !last.done || last.code != kerr.None {
				t.Error("a record that those in sync have is not acknowledged during the copy")
			}
			took := 2200 * time.Millisecond
			for ; copied() < size && took < time.Minute; took += 100 * time.Millisecond {
				w.pass(100 * time.Millisecond)
				if most := took.Seconds() + 0.1 + 2; copied() > most {
					t.Fatalf("after %s %g MiB are copied, which is more than %g", took, copied(), most)
				}
			}
			if took < (size-2)*time.Second || took > (size+2)*time.Second {
				t.Errorf("the copy took %s, want %d s but for two", took, size)
			}
		})
	}
}
