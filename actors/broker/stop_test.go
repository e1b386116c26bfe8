package broker

import (
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/batch"
	"troupe/codec/kerr"
	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog/checkpoint"
)

// segmentBytes is the smallest that a topic may have.
const segmentBytes = 1 << 20

// A stop that waits for the unlinks of deleted topics runs into its timeout and leaves no clean mark.
func TestACleanStopDoesNotWaitForUnlinks(t *testing.T) {
	const topics = 40
	n := newNode(t, 1)
	n.start()
	c := dial(t, n.address())
	for i := range topics {
		if err := createTopic(c, fmt.Sprint("t", i), map[string]string{"file.delete.delay.ms": "0"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := createTopic(c, "kept", nil); err != nil {
		t.Fatal(err)
	}
	gate := make(chan struct{})
	var unlinks atomic.Int32
	n.fs.Hook(func(c vfs.Call) vfs.Fault {
		if c.Op == vfs.OpRemove && strings.HasSuffix(c.Name, "-delete") {
			unlinks.Add(1)
			<-gate
		}
		return vfs.Fault{}
	})
	for i := range topics {
		if err := deleteTopic(c, fmt.Sprint("t", i)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "unlinks are under way", func() bool { return unlinks.Load() > 0 })
	go func() {
		for n.stopping.Load() == 0 {
			runtime.Gosched()
		}
		close(gate)
	}()
	lanes := n.cfg.Log.RecoveryPerDirMax
	n.stopClean()
	// Those that were under way end, one a lane.
	if got := unlinks.Load(); got > lanes {
		t.Errorf("%d of %d unlinks were done before the stop", got, topics)
	}
	n.fs.Hook(nil)
	if _, clean, err := checkpoint.ReadCleanShutdown(n.fs, "/data/"+checkpoint.CleanShutdown); !clean || err != nil {
		t.Errorf("no clean mark: %v", err)
	}
	n.start()
	eventually(t, "the next start has removed the rest", func() bool {
		entries, err := n.fs.ReadDir("/data")
		return err == nil && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name()[0] == 't' })
	})
	if _, err := produce(dial(t, n.address()), "kept", "a record"); err != nil {
		t.Error(err)
	}
}

// The client never learned what became of five batches, which stand round a roll of the segment. Sent again they are
// known, or were not taken the first time, but stand in the log once.
func TestBatchesUnansweredAtAStopAreTakenOnce(t *testing.T) {
	stops := map[string]func(*node){"clean": (*node).stopClean, "killed": (*node).abort, "power": (*node).cutPower}
	for name, stop := range stops {
		for before := range window + 1 { // of the five so many fit into the old segment
			t.Run(fmt.Sprintf("%s, %d before a roll", name, before), func(t *testing.T) {
				n := newNode(t, uint64(before))
				n.start()
				c := dial(t, n.address())
				settings := map[string]string{"segment.bytes": fmt.Sprint(segmentBytes), "flush.messages": "1"}
				if err := createTopic(c, "a", settings); err != nil {
					t.Fatal(err)
				}
				id, err := producerID(c)
				if err != nil {
					t.Fatal(err)
				}
				p := &batch.Producer{ID: id}
				const size = 1000
				fill := segmentBytes - 200 - before*(size+100)
				if _, err := answered(c, sequenced(p, strings.Repeat("f", fill))); err != nil {
					t.Fatal(err)
				}
				var again []*kmsg.ProduceRequest
				for i := range window {
					again = append(again, sequenced(p, strings.Repeat(fmt.Sprint(i), size)))
					if err := c.send(again[i]); err != nil {
						t.Fatal(err)
					}
				}
				// The last one is answered when all are written: nobody reads the answers.
				eventually(t, "the five are written", func() bool { return logEnd(n, "a") == 1+window })
				stop(n)
				n.start()
				c = dial(t, n.address())
				for i, req := range again {
					offset, err := answered(c, req)
					if err != nil || offset != int64(1+i) {
						t.Errorf("batch %d sent again: offset %d, %v", i, offset, err)
					}
				}
				if log, err := fetchAll(c, "a", 0); err != nil || len(log) != 1+window {
					t.Errorf("the log has %d records, %v", len(log), err)
				}
			})
		}
	}
}

// sequenced makes the producer's next batch, of one record.
func sequenced(p *batch.Producer, value string) *kmsg.ProduceRequest {
	req := produceRequest("a", -1, records(p, time.Now(), value))
	p.Sequence++
	return req
}

func answered(c *client, req *kmsg.ProduceRequest) (int64, error) {
	resp, err := c.call(req)
	if err != nil {
		return 0, err
	}
	p := resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0]
	return p.BaseOffset, coded(p.ErrorCode)
}

func logEnd(n *node, topic string) model.Offset {
	if v := n.replicas.Get(model.TopicPartition{Topic: topic}).View(); v != nil {
		return v.LogEnd
	}
	return model.NoOffset
}

func TestAStopAnswersWhatWasRead(t *testing.T) {
	n := newNode(t, 1)
	n.start()
	c := dial(t, n.address())
	if err := createTopic(c, "a", nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, "nothing is left of the first request", func() bool { return n.connections.Credits.Used() == 0 })
	poll := fetchRequest("a", 0, time.Hour)
	poller := dial(t, n.address())
	if err := poller.send(poll); err != nil {
		t.Fatal(err)
	}
	idle := dial(t, n.address())
	eventually(t, "the long poll waits", func() bool { return n.connections.Credits.Used() > 0 })
	n.stopClean()
	if resp, err := poller.receive(poll); err != nil || resp.(*kmsg.FetchResponse).Topics[0].Partitions[0].ErrorCode != 0 {
		t.Errorf("the long poll was not answered: %v", err)
	}
	if _, err := idle.call(kmsg.NewPtrApiVersionsRequest()); err == nil {
		t.Error("an idle connection is still served after the stop")
	}
}

func TestATopicComesBackUnderItsNameAtOnce(t *testing.T) {
	n := newNode(t, 1, "log.segment.delete.delay.ms=1")
	n.start()
	c := dial(t, n.address())
	for round := range 20 {
		if err := createTopic(c, "a", nil); err != nil {
			t.Fatal(err)
		}
		value := fmt.Sprint("round ", round)
		eventually(t, "the new topic takes a record", func() bool {
			offset, err := produce(c, "a", value)
			if err == nil && offset != 0 {
				t.Fatalf("round %d: the first record has offset %d", round, offset)
			}
			if code, _ := kerr.Of(err); err != nil && !code.Retriable() {
				t.Fatalf("round %d: %v", round, err)
			}
			return err == nil
		})
		if round%5 == 4 { // the deletion may be cut short by a kill
			if err := deleteTopic(c, "a"); err != nil {
				t.Fatal(err)
			}
			n.abort()
			n.start()
			c = dial(t, n.address())
			continue
		}
		if got, err := fetchAll(c, "a", 0); err != nil || len(got) != 1 || got[0] != value {
			t.Fatalf("round %d: read %q, %v", round, got, err)
		}
		if err := deleteTopic(c, "a"); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the files of the deleted logs are gone", func() bool {
		entries, err := n.fs.ReadDir("/data")
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), "a-0") && !strings.HasSuffix(e.Name(), "-stray") {
				return false
			}
		}
		return err == nil
	})
}
