package integration

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/tests/node"
	"troupe/tests/wire"
)

// codes is what a member hears of each of its requests.
type codes struct{ join, sync, heartbeat, leave, commit8, commit9 int16 }

// ask sends one of each, the join last: it may wait.
func (m *member) ask(topic string) (got codes) {
	m.t.Helper()
	got.sync, got.heartbeat = m.sync().ErrorCode, m.heartbeat()
	got.commit8, got.commit9 = m.commit(8, topic, 1), m.commit(9, topic, 1)
	got.leave = m.leave()
	got.join = m.tryJoin().ErrorCode
	return got
}

func TestMembersThatAreNotInTheGroupAreRefused(t *testing.T) {
	address := groupBroker(t)
	there := createTopic(t, address, 1)
	unknown, fenced, illegal := kerr.UnknownMemberID.Code, kerr.FencedInstanceID.Code, kerr.IllegalGeneration.Code
	cases := []struct {
		title string
		who   func(dynamic, static *member) *member
		want  codes
	}{
		{"an id that nobody was given", func(dynamic, _ *member) *member {
			return &member{id: "stranger", group: dynamic.group, generation: dynamic.generation}
		}, codes{unknown, unknown, unknown, unknown, unknown, unknown}},
		{"a group that nobody made", func(dynamic, _ *member) *member {
			return &member{id: dynamic.id, group: freshName(), generation: 1}
		}, codes{join: unknown, sync: unknown, heartbeat: unknown, leave: unknown, commit8: illegal, commit9: kerr.GroupIDNotFound.Code}},
		{"the former id of a static member", func(_, static *member) *member {
			return &member{id: "former", instance: static.instance, group: static.group, generation: static.generation}
		}, codes{fenced, fenced, fenced, fenced, fenced, fenced}},
		{"the instance of a static member that is not there", func(_, static *member) *member {
			return (&member{id: static.id, group: static.group, generation: static.generation}).static("absent")
		}, codes{unknown, unknown, unknown, unknown, unknown, unknown}},
		{"a dynamic member's id with a static one's instance", func(dynamic, static *member) *member {
			return &member{id: dynamic.id, instance: static.instance, group: static.group, generation: static.generation}
		}, codes{fenced, fenced, fenced, fenced, fenced, fenced}},
	}
	for _, c := range cases {
		t.Run(c.title, func(t *testing.T) {
			group := freshName()
			dynamic, static := newMember(t, address, group), newMember(t, address, group).static("i")
			stableGroup(t, dynamic, static)
			who := c.who(dynamic, static)
			who.t, who.conn, who.metadata, who.session, who.rebalance = t, wire.Dial(t, address), dynamic.metadata, 10_000, 10_000
			if got := who.ask(there.name); got != c.want {
				t.Errorf("answered %+v, want %+v", got, c.want)
			}
			// Whoever is in it has not noticed.
			expectCode(t, dynamic.heartbeat(), 0)
			expectCode(t, static.heartbeat(), 0)
		})
	}
}

func TestGenerationsThatAreOverOrNeverWereAreRefused(t *testing.T) {
	address := groupBroker(t)
	there := createTopic(t, address, 1)
	m := newMember(t, address, freshName())
	stableGroup(t, m)
	for _, off := range []int32{-1, 1, 1 << 20} {
		stray := *m
		stray.generation += off
		expectCode(t, stray.sync().ErrorCode, kerr.IllegalGeneration.Code)
		expectCode(t, stray.heartbeat(), kerr.IllegalGeneration.Code)
		expectCode(t, stray.commit(8, there.name, 1), kerr.IllegalGeneration.Code)
	}
	nobody := *m
	nobody.id, nobody.generation = "", -1
	expectCode(t, nobody.commit(8, there.name, 1), kerr.UnknownMemberID.Code)
	if got := fetchOffset(m.conn, m.group, there.name).Offset; got != -1 {
		t.Errorf("offset %d is committed, though every commit was refused", got)
	}
}

// brief is a rebalance timeout, in ms, that is waited for, and that a busy machine keeps when all join again.
const brief = 4_000

// A leader that dies between join and sync, while its session lasts: the follower must not wait for it.
func TestALeaderThatNeverSyncsIsLeftOut(t *testing.T) {
	address := groupBroker(t)
	group := freshName()
	leader, follower := newMember(t, address, group), newMember(t, address, group)
	for _, m := range []*member{leader, follower} {
		m.session, m.rebalance = 30_000, brief
	}
	stableGroup(t, leader, follower)
	joinAgain(t, leader, follower)
	expectCode(t, follower.sync().ErrorCode, kerr.RebalanceInProgress.Code) // after the rebalance timeout
	expectCode(t, leader.heartbeat(), kerr.UnknownMemberID.Code)
	if got := follower.askJoin()(); got.LeaderID != follower.id || len(got.Members) != 1 {
		t.Errorf("the leader is %s, of %d members", got.LeaderID, len(got.Members))
	}
	expectCode(t, follower.sync(to(follower.id, "all")).ErrorCode, 0)
}

func TestAFollowerThatNeverSyncsIsLeftOut(t *testing.T) {
	address := groupBroker(t)
	group := freshName()
	leader, follower := newMember(t, address, group), newMember(t, address, group)
	for _, m := range []*member{leader, follower} {
		m.session, m.rebalance = 30_000, brief
	}
	stableGroup(t, leader, follower)
	joinAgain(t, leader, follower)
	expectCode(t, leader.sync(to(leader.id, "one"), to(follower.id, "two")).ErrorCode, 0)
	node.Eventually(t, "the leader is told to join again", func() bool { return leader.heartbeat() == kerr.RebalanceInProgress.Code })
	expectCode(t, follower.heartbeat(), kerr.UnknownMemberID.Code)
}

// The leader assigns to members that have gone meanwhile, and to one that never was: nobody else loses by it.
func TestAssignmentsForMembersThatLeft(t *testing.T) {
	address := groupBroker(t)
	group := freshName()
	leader, gone, stays := newMember(t, address, group), newMember(t, address, group), newMember(t, address, group)
	stableGroup(t, leader, gone, stays)
	joinAgain(t, leader, gone, stays)
	expectCode(t, gone.leave(), 0)
	all := []kmsg.SyncGroupRequestGroupAssignment{to(leader.id, "one"), to(gone.id, "two"), to(stays.id, "three"), to("nobody", "four")}
	expectCode(t, leader.sync(all...).ErrorCode, kerr.RebalanceInProgress.Code)
	joinAgain(t, leader, stays)
	expectCode(t, leader.sync(all...).ErrorCode, 0)
	if got := stays.sync(); got.ErrorCode != 0 || string(got.MemberAssignment) != "three" {
		t.Errorf("error %d, assigned %q", got.ErrorCode, got.MemberAssignment)
	}
	expectCode(t, gone.sync().ErrorCode, kerr.UnknownMemberID.Code)
	if got := describeGroup(stays.conn, group); got.State != "Stable" || len(got.Members) != 2 {
		t.Errorf("described as %+v", got)
	}
}

// A static member that comes back has another id and is one more until the old one is replaced: Kafka counts it as that.
func TestAStaticMemberComesBackToAFullGroup(t *testing.T) {
	address := groupBroker(t)
	group := freshName()
	var members []*member
	for _, instance := range []string{"a", "b", "c", "d", "e"} { // group.max.size of them
		members = append(members, newMember(t, address, group).static(instance))
	}
	stableGroup(t, members...)
	again := newMember(t, address, group).static("c")
	got := again.tryJoin()
	expectCode(t, got.ErrorCode, kerr.GroupMaxSizeReached.Code)
	one := newMember(t, address, group).static("f")
	expectCode(t, one.tryJoin().ErrorCode, kerr.GroupMaxSizeReached.Code)
	dynamic := newMember(t, address, group)
	expectCode(t, dynamic.tryJoin().ErrorCode, kerr.GroupMaxSizeReached.Code)
	if got := describeGroup(again.conn, group); len(got.Members) != 5 || slices.ContainsFunc(got.Members, func(m kmsg.DescribeGroupsResponseGroupMember) bool { return m.InstanceID == nil }) {
		t.Errorf("described as %+v", got)
	}
	expectCode(t, members[2].heartbeat(), 0)
}
