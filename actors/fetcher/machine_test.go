package fetcher

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/peer"
	"troupe/actors/replica"
	"troupe/actors/throttle"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// scene is the machine of one leader with partitions of topics "a" and "b", and a clock.
type scene struct {
	t       *testing.T
	m       *machine
	now     time.Time
	handles map[string]*replica.Handle
	rate    int64 // of the quota
}

func newScene(t *testing.T, names ...string) *scene {
	s := &scene{t: t, now: time.Unix(1000, 0), handles: map[string]*replica.Handle{}, rate: throttle.Unlimited}
	quota := throttle.NewQuota(throttle.Windows{Count: 11, Length: time.Second}, func() int64 { return s.rate })
	s.m = newMachine(9, Limits{WaitMax: 500 * time.Millisecond, Backoff: time.Second, MinBytes: 1, PartitionBytes: 1000, ResponseMaxBytes: 9000}, quota)
	for _, n := range names {
		s.follow(n, 0)
	}
	return s
}

func (s *scene) handle(name string) *replica.Handle {
	if s.handles[name] == nil {
		s.handles[name] = replica.NewHandle(model.TopicPartition{Topic: name}, model.TopicID{name[0]}, nil, &replica.Config{})
	}
	return s.handles[name]
}

func at(offset model.Offset) replica.Position {
	return replica.Position{LeaderEpoch: 4, Offset: offset, LastEpoch: 3}
}

func (s *scene) follow(name string, offset model.Offset) { s.m.follow(s.handle(name), at(offset)) }

func (s *scene) wrote(name string, offset model.Offset) {
	s.m.progress(&replica.Progress{Handle: s.handle(name), Position: at(offset)}, s.now)
}

// fetches expects the next fetch to name partitions with offsets and to forget others; "" is no fetch.
func (s *scene) fetches(want string) {
	s.t.Helper()
	got := ""
	if req := s.m.next(s.now); req != nil {
		var said []string
		for _, t := range req.Topics {
			for _, p := range t.Partitions {
				said = append(said, fmt.Sprintf("%c@%d", t.TopicID[0], p.FetchOffset))
			}
		}
		for _, t := range req.ForgottenTopics {
			said = append(said, fmt.Sprintf("-%c", t.TopicID[0]))
		}
		got = fmt.Sprintf("%d/%d %s", req.SessionID, req.SessionEpoch, strings.Join(said, " "))
	}
	if strings.TrimSpace(got) != want {
		s.t.Fatalf("fetches %q, want %q", got, want)
	}
}

// replies answers for session 7: "a" with records, seven bytes, "a^50" with a high watermark too, "a!6" with an error code, "a?" out
// of range; it gives who was delivered to.
func (s *scene) replies(partitions ...string) string {
	s.t.Helper()
	resp := kmsg.NewPtrFetchResponse()
	resp.SessionID = 7
	for _, name := range partitions {
		t := kmsg.NewFetchResponseTopic()
		t.TopicID = model.TopicID{name[0]}
		p := kmsg.NewFetchResponseTopicPartition()
		switch code, failed := strings.CutPrefix(name[1:], "!"); {
		case failed:
			fmt.Sscan(code, &p.ErrorCode)
		case name[1:] == "?":
			p.ErrorCode = int16(kerr.OffsetOutOfRange)
		default:
			p.RecordBatches = []byte("records")
			fmt.Sscan(strings.TrimPrefix(name[1:], "^"), &p.HighWatermark)
		}
		t.Partitions = append(t.Partitions, p)
		resp.Topics = append(resp.Topics, t)
	}
	out := s.m.answered(resp, nil, s.now)
	var to []string
	for _, f := range out.fetched {
		to = append(to, fmt.Sprintf("%s@%d", f.Handle.TP.Topic, f.Offset))
	}
	for _, p := range out.beyond {
		to = append(to, p.handle.TP.Topic+"?")
	}
	slices.Sort(to)
	return strings.Join(to, " ")
}

func (s *scene) delivers(want string, partitions ...string) {
	s.t.Helper()
	if got := s.replies(partitions...); got != want {
		s.t.Fatalf("delivers %q, want %q", got, want)
	}
}

func (s *scene) passes(d time.Duration) { s.now = s.now.Add(d) }

func TestASessionNamesWhatChanged(t *testing.T) {
	s := newScene(t, "a", "b")
	s.fetches("0/0 a@0 b@0")
	s.delivers("a@0", "a")
	s.fetches("") // until the replica has written it
	s.wrote("a", 5)
	s.fetches("7/1 a@5")
	s.delivers("")
	s.fetches("7/2")
	s.follow("c", 2)
	s.fetches("") // one is on its way
	s.delivers("")
	s.fetches("7/3 c@2")
}

func TestASlowReplicaLeavesTheSessionUntilItHasWritten(t *testing.T) {
	s := newScene(t, "a", "b")
	s.fetches("0/0 a@0 b@0")
	s.delivers("a@0 b@0", "a", "b")
	s.wrote("b", 1)
	s.fetches("")
	if wake, ok := s.m.wakeAt(s.now); !ok || wake != s.now.Add(patience) {
		t.Errorf("wakes at %v, %v", wake, ok)
	}
	s.passes(patience)
	s.fetches("7/1 b@1 -a")
	s.delivers("b@1", "b")
	s.wrote("a", 3)
	s.wrote("b", 2)
	s.fetches("7/2 a@3 b@2")
}

func TestAnErrorHasThePartitionRestLongerEachTime(t *testing.T) {
	s := newScene(t, "a", "b")
	s.fetches("0/0 a@0 b@0")
	s.delivers("", "a!75") // UNKNOWN_LEADER_EPOCH: the leader has not heard of it yet
	s.fetches("7/1 -a")
	s.passes(firstRest)
	s.delivers("")
	s.fetches("7/2 a@0")
	s.delivers("", "a!75")
	s.fetches("7/3 -a")
	s.passes(firstRest)
	s.delivers("")
	s.fetches("7/4")
	s.passes(firstRest)
	s.delivers("")
	s.fetches("7/5 a@0")
	for range 20 {
		s.delivers("", "a!75")
		s.fetches(fmt.Sprintf("7/%d -a", s.m.sessionEpoch))
		s.passes(time.Second) // replica.fetch.backoff.ms
		s.delivers("")
		s.fetches(fmt.Sprintf("7/%d a@0", s.m.sessionEpoch))
	}
}

func TestANewLeaderEpochIsFetchedAtOnce(t *testing.T) {
	s := newScene(t, "a", "b")
	s.fetches("0/0 a@0 b@0")
	s.delivers("", "a!74")
	s.follow("a", 7)
	s.fetches("7/1 a@7")
}

func TestAReplyToAFormerPositionIsNotDelivered(t *testing.T) {
	s := newScene(t, "a", "b")
	s.fetches("0/0 a@0 b@0")
	s.follow("a", 9)
	s.delivers("b@0", "a", "b")
	s.m.unfollow(s.handle("b"))
	s.fetches("7/1 a@9 -b")
	s.delivers("", "b")
}

func TestAPartitionThatIsLeftAndTakenUpAgainIsNotForgotten(t *testing.T) {
	s := newScene(t, "a", "b")
	s.fetches("0/0 a@0 b@0")
	s.delivers("")
	s.m.unfollow(s.handle("a"))
	s.follow("a", 3)
	s.fetches("7/1 a@3")
}

func TestASessionThatIsLostBeginsAnew(t *testing.T) {
	s := newScene(t, "a", "b")
	s.fetches("0/0 a@0 b@0")
	s.delivers("a@0", "a")
	s.wrote("a", 1)
	s.fetches("7/1 a@1")
	lost := kmsg.NewPtrFetchResponse()
	lost.ErrorCode = int16(kerr.FetchSessionIDNotFound)
	s.m.answered(lost, nil, s.now)
	s.fetches("0/0 a@1 b@0")
	s.m.answered(nil, peer.ErrDown, s.now)
	s.fetches("")
	s.passes(firstRest)
	s.fetches("0/0 a@1 b@0")
}

func TestOutOfRangeIsAskedAboutAndEndsWithTheReplica(t *testing.T) {
	s := newScene(t, "a", "b")
	s.fetches("0/0 a@0 b@0")
	s.delivers("a?", "a?")
	s.passes(patience)
	s.fetches("7/1 -a")
	s.wrote("a", 4)
	s.delivers("")
	s.fetches("7/2 a@4")
}

func TestWhenNothingCanBeFetchedTheSessionGoesOnLater(t *testing.T) {
	s := newScene(t, "a")
	s.fetches("0/0 a@0")
	s.delivers("a@0", "a")
	s.passes(time.Second)
	s.fetches("")
	s.wrote("a", 1)
	s.fetches("7/1 a@1")
}

// A replica that gained nothing by what came would be sent the same at once, for ever.
func TestAReplicaThatGainsNothingRests(t *testing.T) {
	s := newScene(t, "a", "b")
	s.fetches("0/0 a@0 b@0")
	s.delivers("a@0", "a")
	s.wrote("a", 0)
	s.fetches("7/1 -a")
	s.delivers("")
	s.passes(firstRest)
	s.fetches("7/2 a@0")
}
