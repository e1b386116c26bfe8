package broker

import (
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/controller"
	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/actors/replica"
	"troupe/codec/batch"
	"troupe/codec/kerr"
	"troupe/internal/clock"
	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog"
)

// altering is broker 1, which leads partitions that brokers 2 and 3 follow, with a controller that the test plays.
type altering struct {
	t       *testing.T
	clock   *clock.Manual
	order   *kit.Deterministic
	state   *lifecycleState
	counts  *replica.Counts
	leaders map[string]*replica.Handle
	shard   kit.Ref
	asked   []*controller.Request // and not answered
}

type silentController struct{ *altering }

func (c silentController) Receive(_ *kit.Context, m kit.Message) {
	c.asked = append(c.asked, m.(*controller.Request))
}

func newAltering(t *testing.T, topics ...string) *altering {
	t.Helper()
	return newAlteringBy(t, 1, topics...)
}

// newAlteringBy has the seed say in which order actors take their turns.
func newAlteringBy(t *testing.T, seed uint64, topics ...string) *altering {
	t.Helper()
	a := &altering{
		t: t, clock: clock.NewManual(time.Unix(1000, 0)), order: kit.NewDeterministic(seed), state: &lifecycleState{id: 1},
		counts: &replica.Counts{}, leaders: map[string]*replica.Handle{},
	}
	a.state.value.Store(6)
	system := kit.NewSystem(kit.Options{Clock: a.clock, Dispatcher: a.order})
	spawn := func(name string, b kit.Behavior) kit.Ref {
		return system.Spawn(name, kit.Props{Kind: "test", New: func() kit.Behavior { return b }})
	}
	fs := vfs.NewCrashFS(1, a.clock)
	if err := fs.MkdirAll("/data", 0o755); err != nil {
		t.Fatal(err)
	}
	dir := disk.Open(system, partitionlog.NewEnv(fs, vfs.NewDescriptors(100)), "/data", model.DirectoryID{1}, disk.Lanes{}, spawn("warden", deaf{}))
	alterations := system.Spawn("alterations", newAlterations(a.state, a.counts))
	alterations.Send(&controllerSpawned{spawn("controller", silentController{a})})
	a.shard = system.Spawn("replicas", replica.NewShard(&replica.Deps{
		Self: 1, Log: slog.New(slog.DiscardHandler), ProducerExpiry: func() time.Duration { return time.Hour }, LagMax: 30 * time.Second,
		Eligible: func(*replica.Handle, model.BrokerID, model.BrokerEpoch) bool { return true }, Fetchers: spawn("fetchers", deaf{}), Alterations: alterations,
	}, replica.Pace{First: time.Hour, Retention: time.Hour, Producers: time.Hour}))
	for i, topic := range topics {
		h := replica.NewHandle(model.TopicPartition{Topic: topic}, model.TopicID{byte(i + 1)}, dir, settings(1))
		lead := &replica.BecomeLeader{LeaderEpoch: 4, PartitionEpoch: 7, ISR: []model.BrokerID{1}, Replicas: []model.BrokerID{1, 2, 3}}
		a.shard.Send(&replica.Host{Handle: h, Fresh: true, Lead: lead, Done: func() {}})
		a.leaders[topic] = h
	}
	a.pass(10 * time.Millisecond)
	return a
}

func settings(minISR int) *replica.Config {
	return &replica.Config{
		Log:    partitionlog.Config{SegmentBytes: 1 << 20, IndexBytes: 1 << 10, IndexIntervalBytes: 100, RetentionMs: -1, RetentionBytes: -1},
		MinISR: minISR, MaxBatchBytes: 1 << 20, SegmentBytes: 1 << 20, FlushMessages: math.MaxInt64,
	}
}

// deaf hears nothing.
type deaf struct{}

func (deaf) Receive(*kit.Context, kit.Message) {}

func (a *altering) pass(d time.Duration) {
	for a.order.Run(1 << 20); d > 0; d -= time.Millisecond {
		a.clock.Advance(time.Millisecond)
		a.order.Run(1 << 20)
	}
}

// fetches has a follower, of epoch 8 and so many more, fetch the end of an empty log.
func (a *altering) fetches(topic string, id model.BrokerID) {
	a.leaders[topic].Send(&replica.FollowerFetch{Replica: id, Epoch: 8 + model.BrokerEpoch(id), LeaderEpoch: 4})
	a.order.Run(1 << 20)
}

// appends has followers lag from now on.
func (a *altering) appends(topic string) {
	a.t.Helper()
	b := batch.NewBuilder(batch.Options{})
	b.Add(batch.Record{Timestamp: a.clock.Now().UnixMilli(), Value: []byte("news")})
	v, err := b.Build()
	if err != nil {
		a.t.Fatal(err)
	}
	a.leaders[topic].Send(&replica.Append{Batch: v, Sink: unheard{}})
	a.order.Run(1 << 20)
}

type unheard struct{}

func (unheard) AppendDone(int, replica.AppendResult) {}

// asks fails unless this is what the controller was asked since the last answer; "" is nothing.
func (a *altering) asks(want string) {
	a.t.Helper()
	var got []string
	for _, r := range a.asked {
		req := r.Body.(*kmsg.AlterPartitionRequest)
		text := fmt.Sprintf("%d/%d:", req.BrokerID, req.BrokerEpoch)
		for _, t := range req.Topics {
			for _, p := range t.Partitions {
				text += fmt.Sprintf(" %s@%d/%d", a.name(t.TopicID), p.LeaderEpoch, p.PartitionEpoch)
				for _, m := range p.NewEpochISR {
					text += fmt.Sprintf(" %d/%d", m.BrokerID, m.BrokerEpoch)
				}
			}
		}
		got = append(got, text)
	}
	if text := strings.Join(got, "\n"); text != want {
		a.t.Fatalf("the controller is asked\n%s\nwant\n%s", text, want)
	}
}

func (a *altering) name(id model.TopicID) string {
	for topic, h := range a.leaders {
		if h.TopicID == id {
			return topic
		}
	}
	return id.String()
}

// answers gives the code of the whole, and those of topics: a success is what was asked for.
func (a *altering) answers(whole kerr.Code, topics map[string]kerr.Code) {
	r := a.asked[0]
	a.asked = a.asked[1:]
	req := r.Body.(*kmsg.AlterPartitionRequest)
	resp := req.ResponseKind().(*kmsg.AlterPartitionResponse)
	resp.ErrorCode = int16(whole)
	for _, t := range req.Topics {
		code, told := topics[a.name(t.TopicID)]
		if !told {
			continue
		}
		topic := kmsg.NewAlterPartitionResponseTopic()
		topic.TopidID = t.TopicID
		for _, p := range t.Partitions {
			done := kmsg.NewAlterPartitionResponseTopicPartition()
			done.Partition, done.ErrorCode = p.Partition, int16(code)
			if code == kerr.None {
				done.LeaderEpoch, done.PartitionEpoch = p.LeaderEpoch, p.PartitionEpoch+1
				for _, m := range p.NewEpochISR {
					done.ISR = append(done.ISR, m.BrokerID)
				}
			}
			topic.Partitions = append(topic.Partitions, done)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	r.Done(resp)
	a.order.Run(1 << 20)
}

func (a *altering) counted(expansions, shrinks, refused int64) {
	a.t.Helper()
	if e, s, r := a.counts.Expansions.Load(), a.counts.Shrinks.Load(), a.counts.Refused.Load(); e != expansions || s != shrinks || r != refused {
		a.t.Errorf("%d expansions, %d shrinks and %d refusals are counted, want %d, %d and %d", e, s, r, expansions, shrinks, refused)
	}
}

func TestWhatLeadersProposeMeanwhileGoesTogetherInTheNextRequest(t *testing.T) {
	a := newAltering(t, "a", "b", "c")
	a.fetches("a", 2)
	a.asks("1/6: a@4/7 1/6 2/10")
	a.fetches("c", 2)
	a.fetches("b", 3)
	a.asks("1/6: a@4/7 1/6 2/10") // one request at a time
	a.answers(kerr.None, map[string]kerr.Code{"a": kerr.None})
	a.asks("1/6: b@4/7 1/6 3/11 c@4/7 1/6 2/10")
	a.fetches("a", 3)
	a.answers(kerr.None, map[string]kerr.Code{"b": kerr.None, "c": kerr.None})
	a.asks("1/6: a@4/8 1/6 2/10 3/11")
	a.answers(kerr.None, map[string]kerr.Code{"a": kerr.None})
	a.counted(4, 0, 0)
}

func TestAShrinkIsCountedAsOne(t *testing.T) {
	a := newAltering(t, "a")
	a.fetches("a", 2)
	a.answers(kerr.None, map[string]kerr.Code{"a": kerr.None})
	a.appends("a")
	a.pass(45*time.Second + 10*time.Millisecond) // replica.lag.time.max.ms is over, and the round of half of it has come
	a.asks("1/6: a@4/8 1/6")
	a.answers(kerr.None, map[string]kerr.Code{"a": kerr.None})
	a.counted(1, 1, 0)
}

// What no controller has answered is asked again until one does, with the epoch that the broker has then.
func TestAProposalWithoutAnAnswerIsAskedAgain(t *testing.T) {
	for title, answer := range map[string]func(*altering){
		"no controller was found":                 func(a *altering) { a.answers(kerr.NotController, nil) },
		"the broker is registered anew":           func(a *altering) { a.answers(kerr.StaleBrokerEpoch, nil) },
		"it is not registered yet":                func(a *altering) { a.answers(kerr.BrokerIDNotRegistered, nil) },
		"the whole failed, whatever of the parts": func(a *altering) { a.answers(kerr.UnknownServerError, map[string]kerr.Code{"a": kerr.InvalidRequest}) },
		"the controller is behind":                func(a *altering) { a.answers(kerr.None, map[string]kerr.Code{"a": kerr.NotController}) },
		"the partition is not in the answer":      func(a *altering) { a.answers(kerr.None, map[string]kerr.Code{}) },
	} {
		t.Run(title, func(t *testing.T) {
			a := newAltering(t, "a", "b")
			a.fetches("a", 2)
			answer(a)
			a.fetches("b", 2)
			a.asks("")
			a.pass(retryAfter - time.Millisecond)
			a.asks("")
			a.state.value.Store(20)
			a.pass(time.Millisecond)
			a.asks("1/20: a@4/7 1/20 2/10 b@4/7 1/20 2/10")
			a.answers(kerr.None, map[string]kerr.Code{"a": kerr.None, "b": kerr.None})
			a.counted(2, 0, 0)
			a.pass(time.Minute)
			a.asks("")
		})
	}
}

// Kafka's rules of what a leader makes of an answer. One that cannot have been committed is proposed again when the follower
// fetches, one that may have been when the metadata tells, and what says nothing at the next occasion.
func TestALeaderHearsOfARefusal(t *testing.T) {
	for code, again := range map[kerr.Code]bool{
		kerr.IneligibleReplica: true, kerr.OperationNotAttempted: true, kerr.UnknownServerError: true, kerr.RequestTimedOut: true,
		kerr.FencedLeaderEpoch: false, kerr.InvalidUpdateVersion: false, kerr.InvalidRequest: false, kerr.NewLeaderElected: false,
		kerr.UnknownTopicID: false, kerr.UnknownTopicOrPartition: false,
	} {
		t.Run(code.Name(), func(t *testing.T) {
			a := newAltering(t, "a", "b")
			a.fetches("a", 2)
			a.fetches("b", 2)
			a.answers(kerr.None, map[string]kerr.Code{"a": code})
			a.asks("1/6: b@4/7 1/6 2/10") // the others do not wait for it
			a.answers(kerr.None, map[string]kerr.Code{"b": kerr.None})
			a.counted(1, 0, 1)
			a.fetches("a", 2)
			want := ""
			if again {
				want = "1/6: a@4/7 1/6 2/10"
			}
			a.asks(want)
		})
	}
}

// The controller decides by settings that this broker has applied when the answer comes, though the leader may not have heard of
// them yet. What it would commit alone by the smaller number those lack who are eligible leaders by the larger one.
func TestASmallerISRComesBehindTheSettingsThatItWasDecidedBy(t *testing.T) {
	for seed := range uint64(8) {
		a := newAlteringBy(t, seed, "a")
		a.fetches("a", 2)
		a.answers(kerr.None, map[string]kerr.Code{"a": kerr.None})
		a.appends("a")
		a.pass(45*time.Second + 10*time.Millisecond)
		a.asks("1/6: a@4/8 1/6")
		a.shard.Send(&replica.Order{Handle: a.leaders["a"], Message: &replica.Configure{Config: settings(2)}})
		a.answers(kerr.None, map[string]kerr.Code{"a": kerr.None})
		if high := a.leaders["a"].View().HighWatermark; high != 0 {
			t.Fatalf("seed %d: with one in sync, where two have to be, the high watermark is %d", seed, high)
		}
	}
}
