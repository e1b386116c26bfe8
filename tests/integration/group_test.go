package integration

import (
	"os"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/tests/node"
	"troupe/tests/wire"
)

// groupSettings are those that the tests of groups count on, also of a broker that the environment names.
var groupSettings = []string{"group.initial.rebalance.delay.ms=0", "group.max.size=5", "group.min.session.timeout.ms=1000", "offsets.topic.num.partitions=1"}

// groupBroker is broker for tests of groups; it answers when the coordinator has loaded.
func groupBroker(t *testing.T) string {
	t.Helper()
	address := os.Getenv(node.BootstrapVar)
	if address == "" {
		address = node.Start(t, node.Options{Set: groupSettings}).Bootstrap
	}
	awaitCoordinator(t, address)
	return address
}

// awaitCoordinator has the topic of offsets made, and waits until its groups are served.
func awaitCoordinator(t *testing.T, address string) {
	t.Helper()
	c := wire.Dial(t, address)
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKey = "any"
	node.Eventually(t, "groups have a coordinator", func() bool {
		list := kmsg.NewPtrListGroupsRequest()
		return wire.On[*kmsg.FindCoordinatorResponse](c, wire.Versioned(find, 3)).ErrorCode == 0 &&
			wire.On[*kmsg.ListGroupsResponse](c, wire.Versioned(list, 4)).ErrorCode == 0 &&
			fetchOffset(c, "any", "t").ErrorCode == 0
	})
}

// member is a client of the classic protocol, on a connection of its own.
type member struct {
	t          *testing.T
	conn       *wire.Conn
	group      string
	id         string
	instance   *string
	generation int32
	metadata   []byte
	session    int32 // ms
	rebalance  int32 // ms
}

func newMember(t *testing.T, address, group string) *member {
	t.Helper()
	return &member{t: t, conn: wire.Dial(t, address), group: group, generation: -1, metadata: subscription("t"), session: 10_000, rebalance: 10_000}
}

// static makes it a static member (KIP-345).
func (m *member) static(instance string) *member {
	m.instance = &instance
	return m
}

// subscription is what Java's consumers say of themselves.
func subscription(topics ...string) []byte {
	s := kmsg.NewConsumerMemberMetadata()
	s.Topics = topics
	return s.AppendTo(nil)
}

func (m *member) joinRequest(version int16) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.MemberID, req.InstanceID, req.ProtocolType = m.group, m.id, m.instance, "consumer"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = m.session, m.rebalance
	req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: m.metadata}}
	return wire.Versioned(req, version)
}

// tryJoin sends one join and takes what comes, which for a new dynamic member is an id to come back with (KIP-394).
func (m *member) tryJoin() *kmsg.JoinGroupResponse {
	m.t.Helper()
	return wire.On[*kmsg.JoinGroupResponse](m.conn, m.joinRequest(9))
}

// askJoin sends a join that joined awaits the answer of; dynamic members ask for their id first.
func (m *member) askJoin() (joined func() *kmsg.JoinGroupResponse) {
	m.t.Helper()
	if m.id == "" && m.instance == nil {
		got := m.tryJoin()
		expectCode(m.t, got.ErrorCode, kerr.MemberIDRequired.Code)
		m.id = got.MemberID
	}
	req := m.joinRequest(9)
	correlation := m.conn.Send(req)
	return func() *kmsg.JoinGroupResponse {
		m.t.Helper()
		got := m.conn.Receive(correlation, req).(*kmsg.JoinGroupResponse)
		expectCode(m.t, got.ErrorCode, 0)
		m.id, m.generation = got.MemberID, got.Generation
		return got
	}
}

func (m *member) syncRequest(assigned ...kmsg.SyncGroupRequestGroupAssignment) *kmsg.SyncGroupRequest {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.MemberID, req.InstanceID, req.Generation, req.GroupAssignment = m.group, m.id, m.instance, m.generation, assigned
	return wire.Versioned(req, 4)
}

// to has any text for a share: the coordinator passes it on and does not look into it.
func to(id, share string) kmsg.SyncGroupRequestGroupAssignment {
	return kmsg.SyncGroupRequestGroupAssignment{MemberID: id, MemberAssignment: []byte(share)}
}

func (m *member) sync(assigned ...kmsg.SyncGroupRequestGroupAssignment) *kmsg.SyncGroupResponse {
	m.t.Helper()
	return wire.On[*kmsg.SyncGroupResponse](m.conn, m.syncRequest(assigned...))
}

// heartbeat is how a member hears that others have begun another generation.
func (m *member) heartbeat() int16 {
	m.t.Helper()
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.MemberID, req.InstanceID, req.Generation = m.group, m.id, m.instance, m.generation
	return wire.On[*kmsg.HeartbeatResponse](m.conn, wire.Versioned(req, 4)).ErrorCode
}

// leave gives the code at the top, or else the member's: since version 3 a member that is not known is no error of the
// whole.
func (m *member) leave() int16 {
	m.t.Helper()
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group, req.Members = m.group, []kmsg.LeaveGroupRequestMember{{MemberID: m.id, InstanceID: m.instance}}
	got := wire.On[*kmsg.LeaveGroupResponse](m.conn, wire.Versioned(req, 5))
	if got.ErrorCode == 0 && len(got.Members) == 1 {
		return got.Members[0].ErrorCode
	}
	return got.ErrorCode
}

func (m *member) commitRequest(version int16, topics ...kmsg.OffsetCommitRequestTopic) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.MemberID, req.InstanceID, req.Generation, req.Topics = m.group, m.id, m.instance, m.generation, topics
	return wire.Versioned(req, version)
}

// offsetOf is the part of a commit that concerns one topic; the same offset does for all of its partitions.
func offsetOf(topic string, offset int64, partitions ...int32) kmsg.OffsetCommitRequestTopic {
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic = topic
	for _, number := range partitions {
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset = number, offset
		t.Partitions = append(t.Partitions, p)
	}
	return t
}

// commit commits for partition 0.
func (m *member) commit(version int16, topic string, offset int64) int16 {
	m.t.Helper()
	got := wire.On[*kmsg.OffsetCommitResponse](m.conn, m.commitRequest(version, offsetOf(topic, offset, 0)))
	return got.Topics[0].Partitions[0].ErrorCode
}

// fetchOffset reads what a group committed for partition 0, the code of the whole included.
func fetchOffset(c *wire.Conn, group, topic string) kmsg.OffsetFetchResponseTopicPartition {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group, req.Topics = group, []kmsg.OffsetFetchRequestTopic{{Topic: topic, Partitions: []int32{0}}}
	got := wire.On[*kmsg.OffsetFetchResponse](c, wire.Versioned(req, 7))
	if got.ErrorCode != 0 {
		return kmsg.OffsetFetchResponseTopicPartition{ErrorCode: got.ErrorCode}
	}
	return got.Topics[0].Partitions[0]
}

func describeGroup(c *wire.Conn, group string) kmsg.DescribeGroupsResponseGroup {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{group}
	return wire.On[*kmsg.DescribeGroupsResponse](c, wire.Versioned(req, 5)).Groups[0]
}

// stableGroup makes a group of members that are each assigned their id; the first one leads.
func stableGroup(t *testing.T, members ...*member) {
	t.Helper()
	leader, followers := members[0], members[1:]
	leader.askJoin()()
	leader.assign(leader)
	if len(followers) == 0 {
		return
	}
	var joins []func() *kmsg.JoinGroupResponse
	for _, m := range followers {
		joins = append(joins, m.askJoin())
	}
	node.Eventually(t, "all wait", func() bool { return len(describeGroup(leader.conn, leader.group).Members) == len(members) })
	leader.askJoin()()
	for _, joined := range joins {
		joined()
	}
	leader.assign(members...)
}

// joinAgain begins another generation of a stable group.
func joinAgain(t *testing.T, leader *member, followers ...*member) {
	t.Helper()
	joins := []func() *kmsg.JoinGroupResponse{leader.askJoin()}
	for _, m := range followers { // one that came before the leader would be told the generation that it has
		node.Eventually(t, "the leader has begun", func() bool { return m.heartbeat() == kerr.RebalanceInProgress.Code })
		joins = append(joins, m.askJoin())
	}
	for _, joined := range joins {
		joined()
	}
}

// assign has all members sync; the leader gives each its id.
func (m *member) assign(members ...*member) {
	m.t.Helper()
	var shares []kmsg.SyncGroupRequestGroupAssignment
	for _, each := range members {
		shares = append(shares, to(each.id, each.id))
	}
	for _, each := range members {
		if got := each.sync(shares...); got.ErrorCode != 0 || string(got.MemberAssignment) != each.id {
			m.t.Fatalf("%s: error %d, assigned %q", each.id, got.ErrorCode, got.MemberAssignment)
		}
	}
}
