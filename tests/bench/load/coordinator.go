package load

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
)

// Versions of the requests of groups that both brokers speak, in the forms that are cheap to make.
const (
	findVersion        = 3
	joinVersion        = 5
	promptJoinVersion  = 3 // the last one that makes a member by its first join
	syncVersion        = 3
	heartbeatVersion   = 3
	leaveVersion       = 2
	commitVersion      = 7
	offsetFetchVersion = 5
)

// AwaitCoordinator waits until a group is served; the topic of offsets is made for it where there is none. It tells
// when the broker first answered a request at all; it may not listen yet, and Kafka takes connections before that.
func AwaitCoordinator(address, group string) (answered time.Time, err error) {
	// Not more often: each attempt while nobody listens may take the very port that the broker is about to bind.
	const seldom = 20 * time.Millisecond
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); pause(seldom) {
		c, dialErr := Dial(address)
		if err = dialErr; err != nil {
			continue
		}
		err = c.coordinated(group, func() {
			if answered.IsZero() {
				answered = time.Now()
			}
		})
		_ = c.Close() // nothing was written that matters
		if err == nil {
			return answered, nil
		}
	}
	return answered, fmt.Errorf("group %s has no coordinator after %v: %w", group, patience, err)
}

// coordinated has the group looked for, and something read of it. heard is called when there is an answer, whatever it says.
func (c *Client) coordinated(group string, heard func()) error {
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.Version, find.CoordinatorKey = findVersion, group
	var found kmsg.FindCoordinatorResponse
	if err := c.Do(find, &found); err != nil {
		return err
	}
	heard()
	if code := kerr.Code(found.ErrorCode); code != kerr.None {
		return code
	}
	read := kmsg.NewPtrOffsetFetchRequest()
	read.Version, read.Group = offsetFetchVersion, group
	var offsets kmsg.OffsetFetchResponse
	if err := c.Do(read, &offsets); err != nil {
		return err
	}
	if code := kerr.Code(offsets.ErrorCode); code != kerr.None {
		return code
	}
	return nil
}

// commitRequest commits an offset of so many partitions of a topic, for a group without members.
func commitRequest(group, topic string, partitions int, offset int64) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.Generation = commitVersion, group, -1
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic = topic
	for i := range partitions {
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset = int32(i), offset
		t.Partitions = append(t.Partitions, p)
	}
	req.Topics = append(req.Topics, t)
	return req
}

// committed awaits the answer to a commit.
func (c *Client) committed() (partitions int, err error) {
	var resp kmsg.OffsetCommitResponse
	if err := c.Decode(&resp, commitVersion); err != nil {
		return 0, err
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if code := kerr.Code(p.ErrorCode); code != kerr.None {
				return 0, fmt.Errorf("commit for %s-%d: %w", t.Topic, p.Partition, code)
			}
			partitions++
		}
	}
	return partitions, nil
}
