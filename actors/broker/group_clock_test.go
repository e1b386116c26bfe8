package broker

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
	"troupe/internal/clock"
)

// committer is a member of a group that commits rising offsets, and joins again when it is told to.
type committer struct {
	t          *testing.T
	conn       *client
	id         string
	generation int32
	offset     int64
}

func (c *committer) join() {
	c.t.Helper()
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version, req.Group, req.MemberID, req.ProtocolType = 5, "g", c.id, "consumer"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 6000, 6000
	req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range"}}
	joined := must[*kmsg.JoinGroupResponse](c, req)
	c.id, c.generation = joined.MemberID, joined.Generation
	if kerr.Code(joined.ErrorCode) != kerr.None {
		return
	}
	sync := kmsg.NewPtrSyncGroupRequest()
	sync.Version, sync.Group, sync.MemberID, sync.Generation = 3, "g", c.id, c.generation
	must[*kmsg.SyncGroupResponse](c, sync)
}

// commit goes on until a commit is acknowledged.
func (c *committer) commit() {
	c.t.Helper()
	c.offset++
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		req := kmsg.NewPtrOffsetCommitRequest()
		req.Version, req.Group, req.MemberID, req.Generation = 7, "g", c.id, c.generation
		req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Offset: c.offset}}}}
		switch kerr.Code(must[*kmsg.OffsetCommitResponse](c, req).Topics[0].Partitions[0].ErrorCode) {
		case kerr.None:
			return
		case kerr.UnknownMemberID, kerr.IllegalGeneration, kerr.RebalanceInProgress:
			c.id = ""
			c.join() // is given an id
			c.join()
		}
	}
	c.t.Fatalf("offset %d is not committed", c.offset)
}

func (c *committer) expectCommitted() {
	c.t.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version, req.Group, req.Topics = 5, "g", []kmsg.OffsetFetchRequestTopic{{Topic: "t", Partitions: []int32{0}}}
	got := must[*kmsg.OffsetFetchResponse](c, req)
	if got.ErrorCode != 0 || got.Topics[0].Partitions[0].Offset != c.offset {
		c.t.Errorf("%d was committed, %+v is told", c.offset, got)
	}
}

func must[R kmsg.Response](c *committer, req kmsg.Request) R {
	c.t.Helper()
	resp, err := c.conn.call(req)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.(R)
}

// A member may find itself left out when the time jumps; what was committed stands, and commits go on.
func TestAClockThatIsSetBackAndForthTakesNoCommitBack(t *testing.T) {
	w := &wall{Clock: clock.System()}
	n := newNode(t, 1, "group.initial.rebalance.delay.ms=0", "offsets.topic.num.partitions=1")
	n.clock = w
	n.start()
	c := &committer{t: t, conn: dial(t, n.address()), generation: -2}
	if err := createTopic(c.conn, "t", nil); err != nil {
		t.Fatal(err)
	}
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.Version, find.CoordinatorKey = 3, "g"
	must[*kmsg.FindCoordinatorResponse](c, find)
	for _, step := range []time.Duration{0, time.Hour, -2 * time.Hour, -48 * time.Hour, 48 * time.Hour, -time.Second} {
		w.off.Add(int64(step))
		for range 20 {
			c.commit()
		}
		c.expectCommitted()
	}
	n.stopClean()
	w.off.Add(-int64(time.Hour))
	n.start()
	c.conn = dial(t, n.address())
	c.commit()
	c.expectCommitted()
}
