package broker

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
)

// cordons sets cordoned.log.dirs, and waits until the metadata has these directories.
func (n *node) cordons(c *client, value string, want ...string) {
	n.t.Helper()
	if err := n.alter(c, "cordoned.log.dirs", value); err != nil {
		n.t.Fatal(err)
	}
	eventually(n.t, fmt.Sprintf("%q are cordoned", want), func() bool {
		var paths []string
		b, _ := n.source.Image().Broker(1)
		for _, d := range n.dirs {
			if slices.Contains(b.CordonedLogDirs, d.ID) {
				paths = append(paths, d.Path)
			}
		}
		return slices.Equal(paths, want)
	})
}

// assigned makes a topic whose replica is put on broker 1 by hand.
func assigned(c *client, name string) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis = 7, 10_000
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, -1, -1
	topic.ReplicaAssignment = append(topic.ReplicaAssignment, kmsg.CreateTopicsRequestTopicReplicaAssignment{Replicas: []int32{1}})
	req.Topics = append(req.Topics, topic)
	resp, err := c.call(req)
	if err != nil {
		return err
	}
	return coded(resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode)
}

// KIP-1066, as Kafka 4.3.1 has it.
func TestALogDirectoryThatIsCordonedTakesNoNewReplicas(t *testing.T) {
	n, c, from, to := movable(t)
	n.cordons(c, from, from)
	for i := range 3 {
		if err := createTopic(c, fmt.Sprint("beside-", i), nil); err != nil {
			t.Fatal(err)
		}
	}
	if in := logsIn(t, c); len(in[from]) != 1 || len(in[to]) != 3 {
		t.Errorf("the directories hold %q, want what comes in %s alone", in, to)
	}
	if code := alterDir(t, c, "beside-0", from); code != kerr.InvalidReplicaAssignment {
		t.Errorf("a move to where it is cordoned is answered with %s", code.Name())
	}
	n.cordons(c, "*", "/a", "/b")
	if err := createTopic(c, "nowhere", nil); !errors.Is(err, kerr.InvalidReplicationFactor) {
		t.Errorf("with all cordoned a topic is answered with %v", err)
	}
	if err := assigned(c, "by-hand"); err != nil {
		t.Errorf("who names the broker is answered with %v", err)
	}
	if in := logsIn(t, c); len(in["/a"])+len(in["/b"]) != 5 {
		t.Errorf("the directories hold %q, want the replica that was put here by hand, too", in)
	}
	n.kill()
	n.start()
	c = dial(t, n.address())
	if err := createTopic(c, "nowhere", nil); !errors.Is(err, kerr.InvalidReplicationFactor) {
		t.Errorf("after a start a topic is answered with %v", err)
	}
	n.cordons(c, "")
	if err := createTopic(c, "somewhere", nil); err != nil {
		t.Error(err)
	}
}
