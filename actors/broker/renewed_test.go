package broker

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
)

func deleteRecords(c *client, topic string, before int64) error {
	p := kmsg.NewDeleteRecordsRequestTopicPartition()
	p.Offset = before
	t := kmsg.NewDeleteRecordsRequestTopic()
	t.Topic, t.Partitions = topic, append(t.Partitions, p)
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.Version, req.TimeoutMillis, req.Topics = 2, 10_000, append(req.Topics, t)
	resp, err := c.call(req)
	if err != nil {
		return err
	}
	return coded(resp.(*kmsg.DeleteRecordsResponse).Topics[0].Partitions[0].ErrorCode)
}

// offsetAt asks for the offset of a timestamp: -2 is the log's start, -1 its end.
func offsetAt(c *client, topic string, timestamp int64) (int64, error) {
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Timestamp, p.CurrentLeaderEpoch = timestamp, -1
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic, t.Partitions = topic, append(t.Partitions, p)
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID, req.Topics = 7, -1, append(req.Topics, t)
	resp, err := c.call(req)
	if err != nil {
		return 0, err
	}
	got := resp.(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0]
	return got.Offset, coded(got.ErrorCode)
}

// The checkpoints of a log directory know names and no topic ids.
func TestATopicThatComesBackIsNotHeldToTheCheckpointsOfTheOneBefore(t *testing.T) {
	n := newNode(t, 1)
	n.start()
	c := dial(t, n.address())
	if err := createTopic(c, "a", nil); err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		if _, err := produce(c, "a", fmt.Sprint("former ", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := deleteRecords(c, "a", 40); err != nil {
		t.Fatal(err)
	}
	n.stopClean() // the log start and the high watermark are written down
	n.start()
	c = dial(t, n.address())
	if err := deleteTopic(c, "a"); err != nil {
		t.Fatal(err)
	}
	if err := createTopic(c, "a", nil); err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 10 {
		want = append(want, fmt.Sprint("latter ", i))
		at, err := int64(-1), error(nil)
		eventually(t, "the topic has a leader", func() bool { // not before the former one's files are out of the way
			at, err = produce(c, "a", want[i])
			return !errors.Is(err, kerr.NotLeaderOrFollower)
		})
		if err != nil || at != int64(i) {
			t.Fatalf("record %d is at %d, %v", i, at, err)
		}
	}
	n.abort() // before anything is written down of the latter
	n.start()
	if got, err := fetchAll(dial(t, n.address()), "a", 0); err != nil || !slices.Equal(got, want) {
		t.Errorf("after a kill there are %d of %d records, %v", len(got), len(want), err)
	}
}

// Segments stay until retention takes them: without the checkpoint, deleted records would be back.
func TestRecordsThatWereDeletedStayDeletedWhateverEndsTheProcess(t *testing.T) {
	for title, end := range map[string]func(*node){"a kill": (*node).abort, "a power cut": (*node).cutPower} {
		t.Run(title, func(t *testing.T) {
			n := newNode(t, 1)
			n.start()
			c := dial(t, n.address())
			if err := createTopic(c, "a", map[string]string{"flush.messages": "1"}); err != nil {
				t.Fatal(err)
			}
			for i := range 10 {
				if _, err := produce(c, "a", fmt.Sprint(i)); err != nil {
					t.Fatal(err)
				}
			}
			for _, upTo := range []int64{4, 10} {
				if err := deleteRecords(c, "a", upTo); err != nil {
					t.Fatal(err)
				}
				end(n)
				n.start()
				c = dial(t, n.address())
				eventually(t, "the log begins where it did", func() bool {
					start, err := offsetAt(c, "a", -2)
					return err == nil && start == upTo
				})
				if stop, err := offsetAt(c, "a", -1); err != nil || stop != 10 {
					t.Errorf("after %d were deleted the log ends at %d, %v", upTo, stop, err)
				}
			}
		})
	}
}
