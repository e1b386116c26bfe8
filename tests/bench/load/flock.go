package load

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
)

// Flock is many small groups whose members share few connections and do nothing but heartbeat.
type Flock struct {
	workers
	beats    [][][]byte // by connection: the encoded heartbeats of its members
	answered atomic.Int64
}

// groupSize is the members of each group, which are on as many connections: a broker answers a connection in order, and a
// join waits for the other members'.
const groupSize = 3

// flockSession is long: the groups are made one after the other, and only then heartbeats begin.
const flockSession = 5 * time.Minute

// GatherFlock makes the groups. The broker must leave some time to the first join of a group
// (group.initial.rebalance.delay.ms), in which the other members' come.
func GatherFlock(address string, groups, connections int) (*Flock, error) {
	f := &Flock{}
	for range connections {
		if _, err := f.dial(address); err != nil {
			return nil, err
		}
	}
	f.beats = make([][][]byte, connections)
	teams := connections / groupSize
	_, err := together(teams, func(team int) (Done, error) {
		for g := team; g < groups; g += teams {
			if err := f.gather(fmt.Sprint("flock-", g), team*groupSize); err != nil {
				return Done{}, err
			}
		}
		return Done{}, nil
	})
	if err != nil {
		return nil, errors.Join(err, f.Stop())
	}
	return f, nil
}

// gather makes one group on the connections from first on. A slow broker may begin it before all have come; then those
// that came too late would wait for the others, and another group is made in its place.
func (f *Flock) gather(group string, first int) error {
	const tries = 20
	for again := range tries {
		whole, err := f.tryToGather(fmt.Sprint(group, "-", again), first)
		if whole || err != nil {
			return err
		}
	}
	return fmt.Errorf("%s was not whole %d times: the broker needs more time for the first join", group, tries)
}

// lateRebalance bounds the wait of a member that came too late.
const lateRebalance = 2 * time.Second

func (f *Flock) tryToGather(group string, first int) (whole bool, err error) {
	team := f.clients[first : first+groupSize]
	for _, c := range team {
		req := joinRequest(promptJoinVersion, group, "", "t", flockSession)
		req.RebalanceTimeoutMillis = int32(lateRebalance / time.Millisecond)
		if err := c.Send(req); err != nil {
			return false, err
		}
	}
	var joined [groupSize]kmsg.JoinGroupResponse
	whole = true
	for i, c := range team {
		if err := c.Decode(&joined[i], promptJoinVersion); err != nil {
			return false, err
		}
		whole = whole && kerr.Code(joined[i].ErrorCode) == kerr.None && joined[i].Generation == joined[0].Generation
	}
	var beats [groupSize][]byte
	for i, c := range team {
		beats[i] = formatter.AppendRequest(nil, heartbeatRequest(group, joined[i].MemberID, joined[i].Generation), 1)
		joined[i].MemberID = strings.Clone(joined[i].MemberID) // the reply's buffer is used again
		if !whole {
			continue
		}
		if err := c.Send(syncRequest(group, joined[i].MemberID, &joined[i], "t")); err != nil {
			return false, err
		}
	}
	if whole {
		whole, err = synced(team)
	}
	if err != nil || !whole {
		return false, errors.Join(err, disband(group, team, joined[:]))
	}
	for i := range team {
		f.beats[first+i] = append(f.beats[first+i], beats[i])
	}
	return true, nil
}

// synced awaits the assignments of all.
func synced(team []*Client) (all bool, err error) {
	all = true
	for _, c := range team {
		var resp kmsg.SyncGroupResponse
		if err := c.Decode(&resp, syncVersion); err != nil {
			return false, err
		}
		all = all && kerr.Code(resp.ErrorCode) == kerr.None
	}
	return all, nil
}

// disband has all leave, whether they are known or not.
func disband(group string, team []*Client, joined []kmsg.JoinGroupResponse) error {
	for i, c := range team {
		req := kmsg.NewPtrLeaveGroupRequest()
		req.Version, req.Group, req.MemberID = leaveVersion, group, joined[i].MemberID
		var resp kmsg.LeaveGroupResponse
		if err := c.Do(req, &resp); err != nil {
			return err
		}
	}
	return nil
}

// Beat has every member send a heartbeat each interval, evenly spread, until Stop.
func (f *Flock) Beat(interval time.Duration) {
	for i, c := range f.clients {
		if len(f.beats[i]) == 0 {
			continue
		}
		f.run(func() error { return f.send(c, f.beats[i], interval) })
		f.run(func() error { return f.receive(c) })
	}
}

// send writes each heartbeat by itself: members that share a connection here are clients of their own elsewhere, and a
// broker must not profit from requests that come together.
func (f *Flock) send(c *Client, beats [][]byte, interval time.Duration) error {
	step := time.NewTicker(interval / time.Duration(len(beats)))
	defer step.Stop()
	for i := 0; ; i = (i + 1) % len(beats) {
		if _, err := c.Write(beats[i]); err != nil {
			return err
		}
		<-step.C
	}
}

// receive ends with the first member that is not known any more: what is measured after that were errors.
func (f *Flock) receive(c *Client) error {
	for {
		var resp kmsg.HeartbeatResponse
		if err := c.Decode(&resp, heartbeatVersion); err != nil {
			return err
		}
		if code := kerr.Code(resp.ErrorCode); code != kerr.None {
			return fmt.Errorf("heartbeat: %w", code)
		}
		f.answered.Add(1)
	}
}

// Answered counts the heartbeats that were answered.
func (f *Flock) Answered() int64 { return f.answered.Load() }
