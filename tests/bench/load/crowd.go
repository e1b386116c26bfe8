package load

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
)

// Crowd is one group of the classic protocol, of members with a connection each, who do as Java's consumer does: join,
// sync, heartbeat, and join again when they are told to. The leader gives each one partition.
type Crowd struct {
	address, topic string
	size           int
	session        time.Duration
	interval       time.Duration // of heartbeats
	group          string
	running        sync.WaitGroup
	members        []*crowdMember

	mu      sync.Mutex
	synced  map[int32]map[*crowdMember]bool // generation to the members that have their part of it
	wanted  int                             // members of a generation that is whole
	whole   chan time.Time
	failure error
}

type crowdMember struct {
	*Client
	id         string
	generation int32
	gone       chan struct{} // closed when it is to die
}

// NewCrowd prepares members for the partitions of a topic, as many as there are; each has its connection already.
func NewCrowd(address, group, topic string, size int, session, interval time.Duration) (*Crowd, error) {
	c := &Crowd{address: address, topic: topic, size: size, session: session, interval: interval, group: group, synced: map[int32]map[*crowdMember]bool{}, whole: make(chan time.Time, 1)}
	for range size {
		conn, err := Dial(address)
		if err != nil {
			return nil, errors.Join(err, c.Stop())
		}
		c.members = append(c.members, &crowdMember{Client: conn, gone: make(chan struct{})})
	}
	return c, nil
}

// Join has all of them join at once, and gives the time until each has a part of one assignment.
func (c *Crowd) Join() (time.Duration, error) {
	c.await(c.size)
	began := time.Now()
	for _, m := range c.members {
		c.running.Go(func() { c.live(m) })
	}
	return c.settled(began)
}

// Bury has one die, without a word, and gives the time until the others have its partition among them.
func (c *Crowd) Bury() (time.Duration, error) {
	c.await(c.size - 1)
	m := c.members[len(c.members)-1]
	began := time.Now()
	close(m.gone)
	_ = m.Close() // ends its goroutine
	return c.settled(began)
}

func (c *Crowd) await(members int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wanted = members
	select {
	case <-c.whole: // of a generation before
	default:
	}
}

// settled waits for the generation that has all the members that are left.
func (c *Crowd) settled(began time.Time) (time.Duration, error) {
	select {
	case at := <-c.whole:
		return at.Sub(began), nil
	case <-time.After(patience):
		c.mu.Lock()
		defer c.mu.Unlock()
		return 0, errors.Join(fmt.Errorf("the group is not whole after %v and %d generations", patience, len(c.synced)), c.failure)
	}
}

// Stop ends all members.
func (c *Crowd) Stop() error {
	for _, m := range c.members {
		select {
		case <-m.gone:
		default:
			close(m.gone)
			_ = m.Close() // ends its goroutine
		}
	}
	c.running.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failure
}

// live goes on until the member dies.
func (c *Crowd) live(m *crowdMember) {
	for {
		err := c.enter(m)
		if err == nil {
			err = c.stay(m)
		}
		select {
		case <-m.gone:
			return
		default:
		}
		if err != nil {
			c.mu.Lock()
			c.failure = errors.Join(c.failure, err)
			c.mu.Unlock()
			return
		}
	}
}

// enter joins and syncs until it has an assignment.
func (c *Crowd) enter(m *crowdMember) error {
	for {
		joined, err := c.join(m)
		if err != nil {
			return err
		}
		code, err := c.sync(m, joined)
		switch {
		case err != nil:
			return err
		case code == kerr.None:
			c.count(m)
			return nil
		case code != kerr.RebalanceInProgress && code != kerr.UnknownMemberID && code != kerr.IllegalGeneration:
			return fmt.Errorf("sync: %w", code)
		case code == kerr.UnknownMemberID:
			m.id = ""
		}
	}
}

// count notes a member that has its part. A member that syncs twice in a generation, since it was sent to join and nothing
// had changed, counts once.
func (c *Crowd) count(m *crowdMember) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.synced[m.generation]
	if of == nil {
		of = map[*crowdMember]bool{}
		c.synced[m.generation] = of
	}
	of[m] = true
	if len(of) == c.wanted {
		select {
		case c.whole <- time.Now():
		default: // it is known already
		}
	}
}

// join asks until the member is in a generation. A rebalance that the broker gives up in the middle, or a member id that
// it has forgotten, is asked for again, as clients do.
func (c *Crowd) join(m *crowdMember) (*kmsg.JoinGroupResponse, error) {
	for {
		var resp kmsg.JoinGroupResponse
		if err := m.Do(joinRequest(joinVersion, c.group, m.id, c.topic, c.session), &resp); err != nil {
			return nil, err
		}
		switch code := kerr.Code(resp.ErrorCode); code {
		case kerr.None:
			m.generation = resp.Generation
			return &resp, nil
		case kerr.MemberIDRequired:
			m.id = string([]byte(resp.MemberID)) // the reply's buffer is used again
		case kerr.UnknownMemberID:
			m.id = ""
		case kerr.RebalanceInProgress:
		default:
			return nil, fmt.Errorf("join: %w", code)
		}
	}
}

// joinRequest subscribes to one topic by the one protocol that all members name, so that nothing is spent on an election.
func joinRequest(version int16, group, id, topic string, session time.Duration) *kmsg.JoinGroupRequest {
	subscription := kmsg.NewConsumerMemberMetadata()
	subscription.Topics = []string{topic}
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version, req.Group, req.MemberID, req.ProtocolType = version, group, id, "consumer"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = int32(session/time.Millisecond), 60_000
	req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: subscription.AppendTo(nil)}}
	return req
}

// sync waits for the leader's assignment. The leader's request is made from the reply to its join, whose buffer the next
// reply takes.
func (c *Crowd) sync(m *crowdMember, joined *kmsg.JoinGroupResponse) (kerr.Code, error) {
	var resp kmsg.SyncGroupResponse
	err := m.Do(syncRequest(c.group, m.id, joined, c.topic), &resp)
	return kerr.Code(resp.ErrorCode), err
}

// syncRequest of a leader gives the i-th member partition i.
func syncRequest(group, id string, joined *kmsg.JoinGroupResponse, topic string) *kmsg.SyncGroupRequest {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Version, req.Group, req.MemberID, req.Generation = syncVersion, group, id, joined.Generation
	for i, each := range joined.Members {
		a := kmsg.NewConsumerMemberAssignment()
		a.Topics = []kmsg.ConsumerMemberAssignmentTopic{{Topic: topic, Partitions: []int32{int32(i)}}}
		req.GroupAssignment = append(req.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: each.MemberID, MemberAssignment: a.AppendTo(nil)})
	}
	return req
}

// stay sends heartbeats until it is told to join again.
func (c *Crowd) stay(m *crowdMember) error {
	beat := time.NewTicker(c.interval)
	defer beat.Stop()
	for {
		select {
		case <-beat.C:
		case <-m.gone:
			return nil
		}
		var resp kmsg.HeartbeatResponse
		if err := m.Do(heartbeatRequest(c.group, m.id, m.generation), &resp); err != nil {
			return err
		}
		switch code := kerr.Code(resp.ErrorCode); code {
		case kerr.None:
		case kerr.RebalanceInProgress, kerr.IllegalGeneration:
			return nil
		case kerr.UnknownMemberID:
			m.id = ""
			return nil
		default:
			return fmt.Errorf("heartbeat: %w", code)
		}
	}
}

func heartbeatRequest(group, id string, generation int32) *kmsg.HeartbeatRequest {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.Generation = heartbeatVersion, group, id, generation
	return req
}
