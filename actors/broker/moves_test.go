package broker

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
	"troupe/internal/model"
	"troupe/internal/vfs"
)

// alterDir asks for a move of the partition to a directory and gives the code.
func alterDir(t testing.TB, c *client, topic, dir string) kerr.Code {
	t.Helper()
	req := kmsg.NewPtrAlterReplicaLogDirsRequest()
	req.Version = 2
	of := kmsg.NewAlterReplicaLogDirsRequestDirTopic()
	of.Topic, of.Partitions = topic, []int32{0}
	to := kmsg.NewAlterReplicaLogDirsRequestDir()
	to.Dir, to.Topics = dir, append(to.Topics, of)
	req.Dirs = append(req.Dirs, to)
	resp, err := c.call(req)
	if err != nil {
		t.Fatal(err)
	}
	return kerr.Code(resp.(*kmsg.AlterReplicaLogDirsResponse).Topics[0].Partitions[0].ErrorCode)
}

// logsIn describes what lies in each directory: "topic-partition" or, of a copy, "topic-partition future".
func logsIn(t *testing.T, c *client) map[string][]string {
	t.Helper()
	req := kmsg.NewPtrDescribeLogDirsRequest()
	req.Version, req.Topics = 4, nil
	resp, err := c.call(req)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for _, d := range resp.(*kmsg.DescribeLogDirsResponse).Dirs {
		for _, topic := range d.Topics {
			for _, p := range topic.Partitions {
				name := fmt.Sprintf("%s-%d", topic.Topic, p.Partition)
				if p.IsFuture {
					name += " future"
				}
				found[d.Dir] = append(found[d.Dir], name)
			}
		}
	}
	return found
}

// movable is a node with two log directories and a partition with a record, and where that lies and does not.
func movable(t *testing.T) (n *node, c *client, from, to string) {
	t.Helper()
	n = newNode(t, 1, "log.dirs=/a,/b", "metadata.log.dir=/m")
	n.start()
	c = dial(t, n.address())
	if err := createTopic(c, powerTopic, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.call(produceRequest(powerTopic, -1, records(nil, time.Now(), "one"))); err != nil {
		t.Fatal(err)
	}
	from, to = "/a", "/b"
	if len(logsIn(t, c)[from]) == 0 {
		from, to = to, from
	}
	return n, c, from, to
}

func (n *node) directoryOf(topic string) model.DirectoryID {
	p, ok := n.source.Image().Partition(model.TopicPartition{Topic: topic})
	if !ok || len(p.Directories) == 0 {
		return model.DirectoryID{}
	}
	return p.Directories[0]
}

func TestAReplicaMovesToTheLogDirectoryThatIsAskedForAndTheMetadataFollows(t *testing.T) {
	n, c, from, to := movable(t)
	if code := alterDir(t, c, powerTopic, to); code != kerr.None {
		t.Fatalf("the move is answered with %s", code.Name())
	}
	name := powerTopic + "-0"
	eventually(t, "the replica lies in the other directory", func() bool {
		in := logsIn(t, c)
		return len(in[from]) == 0 && len(in[to]) == 1 && in[to][0] == name
	})
	eventually(t, "the metadata says so", func() bool { return n.directoryOf(powerTopic) == n.dirOf(to).ID })
	if _, err := c.call(produceRequest(powerTopic, -1, records(nil, time.Now(), "two"))); err != nil {
		t.Fatal(err)
	}
	n.kill()
	n.start()
	log, err := fetchAll(dial(t, n.address()), powerTopic, 0)
	if err != nil || len(log) != 2 || log[0] != "one" || log[1] != "two" {
		t.Errorf("after a kill the log has %q, %v", log, err)
	}
	if _, err := n.fs.Stat(filepath.Join(to, name)); err != nil {
		t.Error(err)
	}
}

func TestAMoveThatIsThrottledIsShownAndGoesOnAfterAStart(t *testing.T) {
	n, c, from, to := movable(t)
	n.quotas.directories.Record(1<<40, n.clock.Now()) // what was moved before: the quota is exceeded for long
	if got := n.throttled(); got.Directories == 0 || got.Leader != 0 || got.Follower != 0 {
		t.Errorf("the rates that are told are %+v", got)
	}
	if err := n.limitMoves(c, "1"); err != nil {
		t.Fatal(err)
	}
	if code := alterDir(t, c, powerTopic, to); code != kerr.None {
		t.Fatalf("the move is answered with %s", code.Name())
	}
	name := powerTopic + "-0"
	if in := logsIn(t, c); len(in[from]) != 1 || in[from][0] != name || len(in[to]) != 1 || in[to][0] != name+" future" {
		t.Errorf("when the move is answered, the directories hold %q", in)
	}
	n.kill()
	n.start()
	c = dial(t, n.address())
	if err := n.limitMoves(c, "1000000"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the move has gone on to its end", func() bool {
		in := logsIn(t, c)
		return len(in[from]) == 0 && len(in[to]) == 1 && in[to][0] == name
	})
	eventually(t, "the log has what it had, to who asks again while its leader is not known", func() bool {
		log, err := fetchAll(c, powerTopic, 0)
		return err == nil && len(log) == 1 && log[0] == "one"
	})
}

func TestAMoveToWhereTheReplicaIsEndsTheOneThatIsUnderWay(t *testing.T) {
	n, c, from, to := movable(t)
	n.quotas.directories.Record(1<<40, n.clock.Now())
	if err := n.limitMoves(c, "1"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		for _, dir := range []string{to, from} {
			if code := alterDir(t, c, powerTopic, dir); code != kerr.None {
				t.Fatalf("the move to %s is answered with %s", dir, code.Name())
			}
		}
		if in := logsIn(t, c); len(in[from]) != 1 || len(in[to]) != 0 {
			t.Errorf("when the end of the move is answered, the directories hold %q", in)
		}
	}
}

// Whoever has the metadata must not take a replica for whole in a directory that it has left (KIP-858): the metadata changes
// first. A process that ends between the two tells where it finds the replica, and goes on.
func TestAProcessThatEndsWhileTheMetadataIsAheadOfAMoveGoesOnWithIt(t *testing.T) {
	n, c, from, to := movable(t)
	n.endWhenCopied(c, to)
	if _, err := n.fs.Stat(filepath.Join(from, powerTopic+"-0")); err != nil {
		t.Error(err)
	}
	n.start()
	c = dial(t, n.address())
	eventually(t, "the replica lies in the other directory, and the metadata says so", func() bool {
		in := logsIn(t, c)
		return len(in[from]) == 0 && len(in[to]) == 1 && in[to][0] == powerTopic+"-0" && n.directoryOf(powerTopic) == n.dirOf(to).ID
	})
	eventually(t, "the log has what it had", func() bool {
		log, err := fetchAll(c, powerTopic, 0)
		return err == nil && len(log) == 1 && log[0] == "one"
	})
}

// Without the directory that the log is in, the metadata tells that the copy had everything.
func TestACopyThatTheMetadataNamesIsTheLogWhereThatIsGone(t *testing.T) {
	n, c, from, to := movable(t)
	n.endWhenCopied(c, to)
	n.set = []string{"log.dirs=" + to, "metadata.log.dir=/m"}
	n.start()
	c = dial(t, n.address())
	eventually(t, "the log has what it had", func() bool {
		log, err := fetchAll(c, powerTopic, 0)
		return err == nil && len(log) == 1 && log[0] == "one"
	})
	if in := logsIn(t, c); len(in[from]) != 0 || len(in[to]) != 1 || in[to][0] != powerTopic+"-0" {
		t.Errorf("the directories hold %q", in)
	}
}

// endWhenCopied begins a move to a directory and ends the process when the metadata names it and the copy is about to get the
// log's name.
func (n *node) endWhenCopied(c *client, to string) {
	t := n.t
	t.Helper()
	ended, once := make(chan struct{}), sync.Once{}
	n.fs.Hook(func(call vfs.Call) (f vfs.Fault) {
		if strings.HasSuffix(call.Name, "future-is-whole") { // it has everything, and is about to get the log's name
			once.Do(func() { close(ended) })
		}
		select {
		case <-ended:
			f.Err = vfs.ErrPowerOff
		default:
		}
		return f
	})
	if code := alterDir(t, c, powerTopic, to); code != kerr.None {
		t.Fatalf("the move is answered with %s", code.Name())
	}
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("the move does not come to its end")
	}
	if got := n.directoryOf(powerTopic); got != n.dirOf(to).ID {
		t.Errorf("the metadata names the directory %s, not that of %s", got, to)
	}
	n.kill()
}

// limitMoves sets replica.alter.log.dirs.io.max.bytes.per.second.
func (n *node) limitMoves(c *client, rate string) error {
	return n.alter(c, "replica.alter.log.dirs.io.max.bytes.per.second", rate)
}

// alter changes a key of this broker while it runs.
func (n *node) alter(c *client, key, value string) error {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Version = 1
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeBroker, fmt.Sprint(n.cfg.NodeID)
	r.Configs = []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: key, Value: &value}}
	req.Resources = append(req.Resources, r)
	resp, err := c.call(req)
	if err != nil {
		return err
	}
	if code := resp.(*kmsg.IncrementalAlterConfigsResponse).Resources[0].ErrorCode; code != 0 {
		return kerr.Code(code)
	}
	return nil
}

func TestAMoveIsRefusedAsKafkaDoes(t *testing.T) {
	_, c, from, _ := movable(t)
	for title, m := range map[string]struct {
		topic, dir string
		want       kerr.Code
	}{
		"to a directory that is not configured": {powerTopic, "/elsewhere", kerr.LogDirNotFound},
		"of a replica that is not here":         {"nobodys", from, kerr.ReplicaNotAvailable},
		"to where it is":                        {powerTopic, from, kerr.None},
	} {
		if got := alterDir(t, c, m.topic, m.dir); got != m.want {
			t.Errorf("%s: %s, want %s", title, got.Name(), m.want.Name())
		}
	}
}

func TestAReplicaThatComesLaterIsPutWhereItWasAskedFor(t *testing.T) {
	_, c, from, to := movable(t)
	for i, dir := range []string{from, to, from} {
		topic := fmt.Sprint("later-", i)
		if got := alterDir(t, c, topic, dir); got != kerr.ReplicaNotAvailable {
			t.Fatalf("before the topic is there: %s", got.Name())
		}
		if err := createTopic(c, topic, nil); err != nil {
			t.Fatal(err)
		}
		eventually(t, topic+" lies in "+dir, func() bool {
			for _, name := range logsIn(t, c)[dir] {
				if name == topic+"-0" {
					return true
				}
			}
			return false
		})
	}
}
