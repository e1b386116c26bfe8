package api

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/throttle"
	"troupe/cluster/record"
	"troupe/internal/model"
)

// throttled is broker 1 with a quota of leaders in bytes a second, which leads "slow", a topic that is throttled, and "free",
// which is not, both with a record. Followers 2 and 3 are out of sync.
func throttled(t *testing.T, bytes int64) (w *world, slow, free model.TopicID, rate *int64) {
	w, rate = newWorld(t), &bytes
	w.node.LeaderQuota = throttle.NewQuota(throttle.Windows{Count: 11, Length: time.Second}, func() int64 { return *rate })
	return w, w.replicated("slow", "leader.replication.throttled.replicas", "0:1"), w.replicated("free", "leader.replication.throttled.replicas", "0:2"), rate
}

// both is one fetch of two topics.
func both(a, b *kmsg.FetchRequest) *kmsg.FetchRequest {
	a.Topics = append(a.Topics, b.Topics...)
	a.MaxWaitMillis = int32(time.Minute.Milliseconds())
	return a
}

// given is how many bytes of records of each topic a reply has, in the order in which they were asked for.
func given(resp *kmsg.FetchResponse) (bytes []int) {
	for _, t := range resp.Topics {
		bytes = append(bytes, len(t.Partitions[0].RecordBatches))
	}
	return bytes
}

func TestAThrottledReplicaIsHeldBackAndTheOthersOfItsFetchAreNot(t *testing.T) {
	w, slow, free, _ := throttled(t, 10)
	w.from(2)
	first := given(ask[*kmsg.FetchResponse](w, both(following(slow, 2, -1, 0), following(free, 2, -1, 0)), fetchV18))
	if first[0] == 0 || first[1] != first[0] {
		t.Fatalf("%v bytes are given before the quota is exceeded", first)
	}
	if got := w.node.LeaderQuota.Rate(w.clock.Now()); got != float64(first[0]) {
		t.Errorf("%g bytes a second are counted, want the %d of the throttled topic", got, first[0])
	}
	req := both(following(slow, 2, -1, 0), following(free, 2, -1, 0))
	if woken := 0; !w.poll(w.send(req, fetchV18), &woken) {
		t.Error("a fetch of which one topic is held back waits")
	}
	second := ask[*kmsg.FetchResponse](w, req, fetchV18)
	if got := given(second); got[0] != 0 || got[1] != first[1] {
		t.Errorf("%v bytes are given, want none of the throttled topic and %d of the other", got, first[1])
	}
	if p := second.Topics[0].Partitions[0]; p.ErrorCode != 0 || p.HighWatermark != 0 || p.LogStartOffset != 0 {
		t.Errorf("of what is held back the follower hears %+v", p)
	}
}

// The mean of ten seconds is down to the limit after ten seconds; it is looked at every second meanwhile, since the limit may change.
func TestAFetchThatIsHeldBackIsAnsweredWhenTheQuotaIsFree(t *testing.T) {
	for title, c := range map[string]struct {
		raised time.Duration // after which the limit is raised
		want   time.Duration
	}{
		"by the time that passes":     {time.Hour, 10 * time.Second},
		"because the limit is raised": {2500 * time.Millisecond, 3 * time.Second},
	} {
		t.Run(title, func(t *testing.T) {
			w, slow, _, rate := throttled(t, 1000)
			w.node.LeaderQuota.Record(10_000, w.clock.Now())
			w.from(2)
			req := following(slow, 2, -1, 0)
			req.MaxWaitMillis = int32(time.Minute.Milliseconds())
			s, woken, after := w.send(req, fetchV18), 1, time.Duration(0)
			for !w.poll(s, &woken) && after < 20*time.Second {
				for woken = 0; woken == 0 && after < 20*time.Second; after += 100 * time.Millisecond {
					if after == c.raised {
						*rate = 1 << 20
					}
					w.clock.Advance(100 * time.Millisecond)
					w.settle()
				}
			}
			if after != c.want {
				t.Errorf("answered after %s, want %s", after, c.want)
			}
		})
	}
}

func TestWhoIsInSyncIsCountedAndNotHeldBackAndConsumersAreNeither(t *testing.T) {
	w, slow, _, _ := throttled(t, 10)
	for _, follower := range []int32{2, 3} { // the record is committed
		w.from(model.BrokerID(follower))
		ask[*kmsg.FetchResponse](w, following(slow, follower, -1, 1), fetchV18)
		w.settle()
	}
	in := record.NewPartitionChange(0, slow)
	in.ISR = []model.BrokerID{1, 3}
	w.apply(in)
	w.node.LeaderQuota.Record(1000, w.clock.Now())
	for _, c := range []struct {
		who            string
		id             int32
		given, counted bool
	}{
		{"a follower out of sync", 2, false, false},
		{"one in sync", 3, true, true},
		{"a consumer", -1, true, false},
	} {
		before := w.node.LeaderQuota.Rate(w.clock.Now())
		if w.from(model.BrokerID(c.id)); c.id < 0 {
			w.client = &Client{Connection: 2, Listener: "PLAINTEXT"}
		}
		got := given(ask[*kmsg.FetchResponse](w, following(slow, c.id, -1, 0), fetchV18))[0]
		counted := w.node.LeaderQuota.Rate(w.clock.Now()) - before
		if got > 0 != c.given || c.counted && counted != float64(got) || !c.counted && counted != 0 {
			t.Errorf("%s is given %d bytes, of which %g are counted", c.who, got, counted)
		}
	}
}
