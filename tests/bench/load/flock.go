package load

import (
	"errors"
	"fmt"
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

// gather makes one group on the connections from first on.
func (f *Flock) gather(group string, first int) error {
	team := f.clients[first : first+groupSize]
	for _, c := range team {
		if err := c.Send(joinRequest(promptJoinVersion, group, "", "t", flockSession)); err != nil {
			return err
		}
	}
	var joined [groupSize]kmsg.JoinGroupResponse
	for i, c := range team {
		if err := c.Decode(&joined[i], promptJoinVersion); err != nil {
			return err
		}
		if code := kerr.Code(joined[i].ErrorCode); code != kerr.None {
			return fmt.Errorf("join of %s: %w", group, code)
		}
	}
	for i, c := range team {
		beat := heartbeatRequest(group, joined[i].MemberID, joined[i].Generation)
		f.beats[first+i] = append(f.beats[first+i], formatter.AppendRequest(nil, beat, 1))
		if err := c.Send(syncRequest(group, joined[i].MemberID, &joined[i], "t")); err != nil {
			return err
		}
	}
	for _, c := range team {
		var synced kmsg.SyncGroupResponse
		if err := c.Decode(&synced, syncVersion); err != nil {
			return err
		}
		if code := kerr.Code(synced.ErrorCode); code != kerr.None {
			return fmt.Errorf("sync of %s: %w", group, code)
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
