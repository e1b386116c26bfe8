package broker

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog/checkpoint"
)

// produce sends one record and gives its offset.
func produce(c *client, topic, value string) (int64, error) {
	resp, err := c.call(produceRequest(topic, -1, records(nil, time.Now(), value)))
	if err != nil {
		return 0, err
	}
	p := resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0]
	return p.BaseOffset, coded(p.ErrorCode)
}

// fails makes the disk refuse what the chosen calls ask for.
func fails(n *node, fault vfs.Fault, chosen func(vfs.Call) bool) {
	n.fs.Hook(func(c vfs.Call) vfs.Fault {
		if chosen(c) {
			return fault
		}
		return vfs.Fault{}
	})
}

func writesOf(topic string) func(vfs.Call) bool {
	return func(c vfs.Call) bool {
		return c.Op == vfs.OpWrite && strings.Contains(c.Name, "/"+topic+"-0/") && strings.HasSuffix(c.Name, ".log")
	}
}

func TestAFullDiskStopsWritersUntilThereIsRoomAndNoReader(t *testing.T) {
	n := newNode(t, 1)
	n.start()
	c := dial(t, n.address())
	if err := createTopic(c, "a", nil); err != nil {
		t.Fatal(err)
	}
	want := []string{"before"}
	if _, err := produce(c, "a", "before"); err != nil {
		t.Fatal(err)
	}
	n.fs.Fill(1)
	for i := range 5 {
		if _, err := produce(c, "a", fmt.Sprint("refused ", i)); !errors.Is(err, kerr.KafkaStorageError) {
			t.Fatalf("produce to a full disk: %v, want KAFKA_STORAGE_ERROR", err)
		}
		if got, err := fetchAll(c, "a", 0); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("read from a full disk: %q, %v", got, err)
		}
	}
	if err := createTopic(c, "b", nil); !errors.Is(err, kerr.NotController) {
		t.Errorf("a topic created on a full disk: %v, want NOT_CONTROLLER", err)
	}
	n.fs.Fill(-1)
	eventually(t, "the log takes records again", func() bool {
		_, err := produce(c, "a", "after")
		return err == nil
	})
	want = append(want, "after")
	eventually(t, "topics can be created again", func() bool {
		err := createTopic(c, "b", nil)
		return err == nil || errors.Is(err, kerr.TopicAlreadyExists)
	})
	select {
	case err := <-n.Failed():
		t.Fatalf("the broker failed: %v", err)
	default:
	}
	if got := n.log.lines("level=ERROR"); len(got) != 2 {
		t.Errorf("a full disk is told of with %q, want one line of the directory and one of the metadata", got)
	}
	n.stopClean()
	n.start()
	if got, err := fetchAll(dial(t, n.address()), "a", 0); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("after a restart %q, %v, want %q", got, err, want)
	}
}

func TestAWriteThatIsCutShortLeavesNoHole(t *testing.T) {
	n := newNode(t, 1)
	n.start()
	c := dial(t, n.address())
	if err := createTopic(c, "a", nil); err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 20 {
		value := fmt.Sprint("record ", i)
		var once atomic.Bool
		if i%3 == 1 {
			ours := writesOf("a")
			fails(n, vfs.Fault{Err: io.ErrShortWrite, Bytes: int64(i)}, func(c vfs.Call) bool {
				return ours(c) && once.CompareAndSwap(false, true)
			})
			if _, err := produce(c, "a", "torn "+value); !errors.Is(err, kerr.KafkaStorageError) {
				t.Fatalf("a torn write: %v, want KAFKA_STORAGE_ERROR", err)
			}
		}
		offset, err := produce(c, "a", value)
		if err != nil || offset != int64(i) {
			t.Fatalf("%s: offset %d, %v", value, offset, err)
		}
		want = append(want, value)
	}
	if got, err := fetchAll(c, "a", 0); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("read %q, %v", got, err)
	}
}

func TestAnErrorOfTheDeviceFencesTheDirectory(t *testing.T) {
	syncs := func(c vfs.Call) bool { return c.Op == vfs.OpSync && strings.Contains(c.Name, "/a-0/") }
	for title, chosen := range map[string]func(vfs.Call) bool{"a write": writesOf("a"), "a sync": syncs} {
		for _, last := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, in the last directory: %v", title, last), func(t *testing.T) {
				n := newNode(t, 1)
				if !last {
					n.set = append(n.set, "log.dirs=/data,/more", "metadata.log.dir=/more")
				}
				n.start()
				c := dial(t, n.address())
				if err := createTopic(c, "a", map[string]string{"flush.messages": "1"}); err != nil {
					t.Fatal(err)
				}
				if !last && !strings.HasPrefix(dirOf(n, "a"), "/data") {
					t.Fatalf("the topic is in %s: the test counts on the first of two empty directories", dirOf(n, "a"))
				}
				fails(n, vfs.Fault{Err: syscall.EIO}, chosen)
				if _, err := produce(c, "a", "lost"); !errors.Is(err, kerr.KafkaStorageError) {
					t.Fatalf("produce: %v, want KAFKA_STORAGE_ERROR", err)
				}
				fails(n, vfs.Fault{}, func(vfs.Call) bool { return false })
				if _, err := produce(c, "a", "lost"); !errors.Is(err, kerr.KafkaStorageError) {
					t.Errorf("produce to a fenced directory: %v, want KAFKA_STORAGE_ERROR", err)
				}
				if _, err := fetchAll(c, "a", 0); !errors.Is(err, kerr.KafkaStorageError) {
					t.Errorf("fetch from a fenced directory: %v, want KAFKA_STORAGE_ERROR", err)
				}
				if last {
					select {
					case err := <-n.Failed():
						if !strings.Contains(err.Error(), "/data") {
							t.Errorf("failed with %v, which does not name the directory", err)
						}
					case <-time.After(patience):
						t.Error("the broker goes on without a log directory")
					}
					return
				}
				if err := createTopic(c, "b", nil); err != nil {
					t.Fatalf("create beside a fenced directory: %v", err)
				}
				if _, err := produce(c, "b", "kept"); err != nil {
					t.Errorf("produce beside a fenced directory: %v", err)
				}
			})
		}
	}
}

func TestAFailedDirectoryIsToldToTheControllerAndToClients(t *testing.T) {
	n := newNode(t, 1, "log.dirs=/data,/more", "metadata.log.dir=/more")
	n.start()
	c := dial(t, n.address())
	for _, topic := range []string{"a", "b"} {
		if err := createTopic(c, topic, nil); err != nil {
			t.Fatal(err)
		}
	}
	if dirOf(n, "a") != "/data" || dirOf(n, "b") != "/more" {
		t.Fatalf("a lies in %s and b in %s: the test counts on one in each", dirOf(n, "a"), dirOf(n, "b"))
	}
	fails(n, vfs.Fault{Err: syscall.EIO}, writesOf("a"))
	if _, err := produce(c, "a", "lost"); !errors.Is(err, kerr.KafkaStorageError) {
		t.Fatalf("produce: %v, want KAFKA_STORAGE_ERROR", err)
	}
	fails(n, vfs.Fault{}, func(vfs.Call) bool { return false })

	eventually(t, "the partition in the failed directory has no leader and an offline replica", func() bool {
		p := partitionOf(t, c, "a")
		return p.Leader == -1 && kerr.Code(p.ErrorCode) == kerr.LeaderNotAvailable && fmt.Sprint(p.OfflineReplicas) == "[1]"
	})
	if p := partitionOf(t, c, "b"); p.Leader != 1 || p.ErrorCode != 0 || len(p.OfflineReplicas) != 0 {
		t.Errorf("beside the failed directory: leader %d, code %d, offline %v", p.Leader, p.ErrorCode, p.OfflineReplicas)
	}
	dirs := kmsg.NewPtrDescribeLogDirsRequest()
	dirs.Version = 4
	resp, err := c.call(dirs)
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]kerr.Code{}
	for _, d := range resp.(*kmsg.DescribeLogDirsResponse).Dirs {
		codes[d.Dir] = kerr.Code(d.ErrorCode)
	}
	if codes["/data"] != kerr.KafkaStorageError || codes["/more"] != kerr.None {
		t.Errorf("the log directories are described with %v", codes)
	}
	if b, _ := n.source.Image().Broker(1); len(b.LogDirs) != 1 {
		t.Errorf("the registration has %d directories, want the one that is left", len(b.LogDirs))
	}

	// A start with a disk that works again registers both, and the partition is led as before.
	n.abort()
	n.start()
	if p := partitionOf(t, dial(t, n.address()), "a"); p.Leader != 1 || len(p.OfflineReplicas) != 0 {
		t.Errorf("after a restart: leader %d, offline %v", p.Leader, p.OfflineReplicas)
	}
}

// Kafka's default has a round of the checkpoints every five seconds.
func TestOfTheCheckpointsOfAFailedDirectoryNothingIsSaid(t *testing.T) {
	n := newNode(t, 1, "log.dirs=/data,/more", "metadata.log.dir=/more", "replica.high.watermark.checkpoint.interval.ms=5")
	n.start()
	c := dial(t, n.address())
	for _, topic := range []string{"a", "b"} {
		if err := createTopic(c, topic, nil); err != nil {
			t.Fatal(err)
		}
	}
	fails(n, vfs.Fault{Err: syscall.EIO}, writesOf("a"))
	if _, err := produce(c, "a", "lost"); !errors.Is(err, kerr.KafkaStorageError) {
		t.Fatalf("produce: %v, want KAFKA_STORAGE_ERROR", err)
	}
	for i := range int64(3) { // a round each at the least
		if _, err := produce(c, "b", "kept"); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the directory that is left has its checkpoint", func() bool {
			o, err := checkpoint.ReadOffsets(n.fs, "/more/"+checkpoint.HighWatermarks)
			return err == nil && int64(o[model.TopicPartition{Topic: "b"}]) == i+1
		})
	}
	if got := n.log.lines("checkpoint failed"); len(got) > 0 {
		t.Errorf("it is said %q", got)
	}
}

func TestAStopBesideAFailedDirectoryIsCleanInTheOthers(t *testing.T) {
	n := newNode(t, 1, "log.dirs=/data,/more", "metadata.log.dir=/more")
	n.start()
	c := dial(t, n.address())
	for _, topic := range []string{"a", "b", "idle"} { // a and idle are in /data
		if err := createTopic(c, topic, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := produce(c, topic, "kept"); err != nil {
			t.Fatal(err)
		}
	}
	fails(n, vfs.Fault{Err: syscall.EIO}, writesOf("a"))
	if _, err := produce(c, "a", "lost"); !errors.Is(err, kerr.KafkaStorageError) {
		t.Fatalf("produce: %v, want KAFKA_STORAGE_ERROR", err)
	}
	fails(n, vfs.Fault{}, func(vfs.Call) bool { return false })
	n.stopClean()
	for dir, want := range map[string]bool{"/data": false, "/more": true} {
		if _, clean, err := checkpoint.ReadCleanShutdown(n.fs, dir+"/"+checkpoint.CleanShutdown); err != nil || clean != want {
			t.Errorf("%s is marked as clean: %v, %v, want %v", dir, clean, err, want)
		}
	}
}

func partitionOf(t *testing.T, c *client, topic string) kmsg.MetadataResponseTopicPartition {
	t.Helper()
	req := kmsg.NewPtrMetadataRequest()
	req.Version = 12
	req.Topics = []kmsg.MetadataRequestTopic{{Topic: &topic}}
	resp, err := c.call(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp.(*kmsg.MetadataResponse).Topics[0].Partitions[0]
}

func dirOf(n *node, topic string) string {
	for _, h := range n.replicas.All() {
		if h.TP.Topic == topic {
			return h.Dir().Path
		}
	}
	return ""
}
