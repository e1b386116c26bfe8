package integration

import (
	"bytes"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/tests/node"
	"troupe/tests/wire"
)

// What a member says of itself is passed on as it is, however little or much.
func TestMetadataOfAnySizeReachesTheLeader(t *testing.T) {
	address := groupBroker(t)
	cases := []struct {
		title    string
		metadata []byte
		record   int16 // what becomes of the assignment, whose record holds the metadata
	}{
		{"nothing", []byte{}, 0},
		{"no subscription", []byte{0xff}, 0},
		{"a subscription of nothing", subscription(), 0},
		{"900 KiB", subscriptionWith(900 << 10), 0},
		{"more than a batch takes", subscriptionWith(2 << 20), kerr.UnknownServerError.Code},
	}
	for _, c := range cases {
		t.Run(c.title, func(t *testing.T) {
			m := newMember(t, address, freshName())
			m.metadata = c.metadata
			if got := m.askJoin()(); len(got.Members) != 1 || !bytes.Equal(got.Members[0].ProtocolMetadata, c.metadata) {
				t.Errorf("the leader is told of %d members", len(got.Members))
			}
			expectCode(t, m.sync(to(m.id, "all")).ErrorCode, c.record)
			// The group goes on, whatever came of it.
			again := newMember(t, address, m.group)
			joined := again.askJoin()
			node.Eventually(t, "the group is about to begin a generation", func() bool { return m.heartbeat() == kerr.RebalanceInProgress.Code })
			m.metadata = subscription("t")
			m.askJoin()()
			joined()
			m.assign(m, again)
		})
	}
}

// subscriptionWith has so many bytes of the assignor's own.
func subscriptionWith(bytes int) []byte {
	s := kmsg.NewConsumerMemberMetadata()
	s.Topics, s.UserData = []string{"t"}, make([]byte, bytes)
	return s.AppendTo(nil)
}

// groupRequests are the requests that name a group, by what they answer for the whole or for its first part.
func groupRequests(t *testing.T, address, group, topic string) map[string]int16 {
	t.Helper()
	m := newMember(t, address, group)
	m.id, m.generation = "stranger", 1
	c := m.conn
	codes := map[string]int16{"join": m.tryJoin().ErrorCode, "sync": m.sync().ErrorCode, "heartbeat": m.heartbeat(), "leave": m.leave()}
	m.id, m.generation = "", -1
	codes["commit"] = m.commit(8, topic, 7)
	codes["fetch"] = fetchOffset(c, group, topic).ErrorCode
	codes["describe"] = describeGroup(c, group).ErrorCode
	deleteOffsets := kmsg.NewPtrOffsetDeleteRequest()
	deleteOffsets.Group = group
	codes["delete offsets"] = wire.On[*kmsg.OffsetDeleteResponse](c, deleteOffsets).ErrorCode
	remove := kmsg.NewPtrDeleteGroupsRequest()
	remove.Groups = []string{group}
	codes["delete"] = wire.On[*kmsg.DeleteGroupsResponse](c, wire.Versioned(remove, 2)).Groups[0].ErrorCode
	return codes
}

func TestGroupIDsOfExtremeLength(t *testing.T) {
	address := groupBroker(t)
	there := createTopic(t, address, 1)
	invalid, unknown := kerr.InvalidGroupID.Code, kerr.UnknownMemberID.Code
	cases := []struct {
		title, id string
		want      map[string]int16
	}{
		{"empty", "", map[string]int16{
			"join": invalid, "sync": invalid, "heartbeat": invalid, "leave": invalid,
			"commit": 0, "fetch": 0, "describe": 0, "delete offsets": invalid, "delete": 0,
		}},
		{"of 32 KiB less one", strings.Repeat("g", 32<<10-1), map[string]int16{
			"join": unknown, "sync": unknown, "heartbeat": unknown, "leave": unknown,
			"commit": 0, "fetch": 0, "describe": 0, "delete offsets": 0, "delete": 0,
		}},
	}
	for _, c := range cases {
		t.Run(c.title, func(t *testing.T) {
			got := groupRequests(t, address, c.id, there.name)
			for name, want := range c.want {
				if got[name] != want {
					t.Errorf("%s: error %d, want %d", name, got[name], want)
				}
			}
		})
	}
}

// A length of 32,768 can be written in the flexible versions alone; no string of the protocol is that long.
func TestAGroupIDOf32KiBEndsTheConnection(t *testing.T) {
	address := groupBroker(t)
	c := wire.Dial(t, address)
	c.Send((&member{group: strings.Repeat("g", 32<<10), session: 10_000, rebalance: 10_000}).joinRequest(9))
	c.ExpectClosed()
}

func TestSubscriptionsAreTakenWhateverTopicsThereAre(t *testing.T) {
	address := groupBroker(t)
	m := newMember(t, address, freshName())
	m.metadata = subscription(freshName())
	stableGroup(t, m)
	expectCode(t, m.heartbeat(), 0)
}

// When a topic is deleted, what was committed for it goes: another one of its name begins anew.
func TestOffsetsOfADeletedTopicAreGone(t *testing.T) {
	address := groupBroker(t)
	goes, stays := createTopic(t, address, 1), createTopic(t, address, 1)
	m := newMember(t, address, freshName())
	m.metadata = subscription(goes.name, stays.name)
	stableGroup(t, m)
	expectCode(t, m.commit(8, goes.name, 5), 0)
	expectCode(t, m.commit(8, stays.name, 6), 0)
	remove := kmsg.NewPtrDeleteTopicsRequest()
	remove.TimeoutMillis, remove.TopicNames = 10_000, []string{goes.name}
	expectCode(t, wire.Ask[*kmsg.DeleteTopicsResponse](t, address, wire.Versioned(remove, 5)).Topics[0].ErrorCode, 0)
	node.Eventually(t, "the offset is gone", func() bool { return fetchOffset(m.conn, m.group, goes.name).Offset == -1 })
	expectCode(t, m.heartbeat(), 0)
	expectCode(t, m.commit(8, goes.name, 7), kerr.UnknownTopicOrPartition.Code)
	if got := fetchOffset(m.conn, m.group, stays.name); got.Offset != 6 {
		t.Errorf("the other topic's offset is %d, want 6", got.Offset)
	}
}

func TestCommitsForWhatIsNotThereDoNotSpoilTheOthers(t *testing.T) {
	address := groupBroker(t)
	there := createTopic(t, address, 2)
	m := newMember(t, address, freshName())
	stableGroup(t, m)
	absent := freshName()
	got := wire.On[*kmsg.OffsetCommitResponse](m.conn, m.commitRequest(8, offsetOf(there.name, 3, 0, 1, 2, -1), offsetOf(absent, 4, 0)))
	codes := map[string]map[int32]int16{}
	for _, each := range got.Topics {
		for _, p := range each.Partitions {
			if codes[each.Topic] == nil {
				codes[each.Topic] = map[int32]int16{}
			}
			codes[each.Topic][p.Partition] = p.ErrorCode
		}
	}
	missing := kerr.UnknownTopicOrPartition.Code
	for partition, want := range map[int32]int16{0: 0, 1: 0, 2: missing, -1: missing} {
		expectCode(t, codes[there.name][partition], want)
	}
	expectCode(t, codes[absent][0], missing)
	if got := fetchOffset(m.conn, m.group, there.name).Offset; got != 3 {
		t.Errorf("offset %d is committed, want 3", got)
	}
}

// A static member's id is its instance and 37 more bytes. What does not fit in a record must not get into one: the
// partition could not be loaded again, and all its groups were lost.
func TestIDsThatNoRecordHoldsAreRefused(t *testing.T) {
	const longest = 32<<10 - 1 - 37
	address := groupBroker(t)
	for length, want := range map[int]int16{longest: 0, longest + 1: kerr.UnknownServerError.Code, 32<<10 - 1: kerr.UnknownServerError.Code} {
		m := newMember(t, address, freshName()).static(strings.Repeat("i", length))
		expectCode(t, m.tryJoin().ErrorCode, want)
	}
}
