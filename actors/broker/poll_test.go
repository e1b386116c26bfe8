package broker

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
)

// reader is a consumer of one partition with a fetch session (KIP-227).
type reader struct {
	c      *client
	topic  string
	id     int32
	epoch  int32
	offset int64
	told   int64 // the offset that the session knows
}

// request asks for what comes after the reader's offset, within a session after the first time.
func (r *reader) request(wait time.Duration) *kmsg.FetchRequest {
	req := fetchRequest(r.topic, r.offset, wait)
	req.SessionID, req.SessionEpoch = r.id, r.epoch
	if r.epoch > 0 && r.told == r.offset {
		req.Topics = nil
	}
	r.told = r.offset
	return req
}

// next awaits records, and gives how many came.
func (r *reader) next(wait time.Duration) (int, error) {
	resp, err := r.c.call(r.request(wait))
	if err != nil {
		return 0, err
	}
	return r.take(resp.(*kmsg.FetchResponse))
}

func (r *reader) take(resp *kmsg.FetchResponse) (int, error) {
	if err := coded(resp.ErrorCode); err != nil {
		return 0, err
	}
	r.id, r.epoch = resp.SessionID, r.epoch+1
	n := 0
	for _, t := range resp.Topics {
		if err := coded(t.Partitions[0].ErrorCode); err != nil {
			return 0, err
		}
		n += len(t.Partitions[0].RecordBatches)
	}
	if n > 0 {
		r.offset++ // the tests write one record at a time
	}
	return n, nil
}

// long is a wait that a test would not outlive: only a wake-up ends it.
const long = time.Hour

// A record may be written at any moment of a fetch: before it is read, between reading and waiting, while it waits.
func TestNoRecordIsMissedByALongPoll(t *testing.T) {
	for title, session := range map[string]bool{"with a session": true, "without one": false} {
		t.Run(title, func(t *testing.T) {
			n := newNode(t, 1)
			n.start()
			writer := dial(t, n.address())
			if err := createTopic(writer, "a", nil); err != nil {
				t.Fatal(err)
			}
			r := &reader{c: dial(t, n.address()), topic: "a"}
			for i := range 300 {
				if !session {
					r.id, r.epoch, r.told = 0, -1, -1
				}
				req := r.request(long)
				if err := r.c.send(req); err != nil {
					t.Fatal(err)
				}
				if _, err := produce(writer, "a", fmt.Sprint(i)); err != nil {
					t.Fatal(err)
				}
				resp, err := r.c.receive(req)
				if err != nil {
					t.Fatalf("record %d: %v", i, err)
				}
				got, err := r.take(resp.(*kmsg.FetchResponse))
				if err != nil {
					t.Fatalf("record %d: %v", i, err)
				}
				if got == 0 { // a session's first reply tells of the empty partition when it was faster
					if _, err := r.next(long); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

func TestASessionOutlivesItsReplica(t *testing.T) {
	n := newNode(t, 1)
	n.start()
	writer := dial(t, n.address())
	if err := createTopic(writer, "a", nil); err != nil {
		t.Fatal(err)
	}
	r := &reader{c: dial(t, n.address()), topic: "a"}
	for round := range 10 {
		for _, a := range n.system.Tree() {
			if a.Kind == "replica" || round%3 == 0 && a.Kind == "shard" {
				if ref, ok := n.system.Find(a.Name); ok { // a replica whose shard panicked before it is gone
					ref.Panic()
				}
			}
		}
		eventually(t, "the replica takes a record again", func() bool {
			_, err := produce(writer, "a", "x")
			return err == nil
		})
		want := r.offset + 1
		eventually(t, "the session brings it", func() bool {
			_, err := r.next(100 * time.Millisecond)
			if code, _ := kerr.Of(err); err != nil && !code.Retriable() {
				t.Fatal(err)
			}
			return r.offset >= want
		})
	}
}

func TestADeletedTopicWakesThoseWhoWaitForIt(t *testing.T) {
	n := newNode(t, 1)
	n.start()
	c := dial(t, n.address())
	if err := createTopic(c, "a", nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, "nothing is left of the first request", func() bool { return n.connections.Credits.Used() == 0 })
	req := fetchRequest("a", 0, long)
	waiter := dial(t, n.address())
	if err := waiter.send(req); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it waits", func() bool { return n.connections.Credits.Used() > 0 })
	if err := deleteTopic(c, "a"); err != nil {
		t.Fatal(err)
	}
	resp, err := waiter.receive(req)
	if err != nil {
		t.Fatal(err)
	}
	code := kerr.Code(resp.(*kmsg.FetchResponse).Topics[0].Partitions[0].ErrorCode)
	if code != kerr.UnknownTopicOrPartition && code != kerr.NotLeaderOrFollower {
		t.Errorf("answered %v", code)
	}
}

// A client that broke its connection may go on with its session, or end it, on another one while the broker still
// waits for the first.
func TestTwoConnectionsMayUseOneSession(t *testing.T) {
	n := newNode(t, 1)
	n.start()
	c := dial(t, n.address())
	if err := createTopic(c, "a", nil); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for round := range 20 {
		first := &reader{c: dial(t, n.address()), topic: "a"}
		if _, err := first.next(0); err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			all.Add(1)
			go func() {
				defer all.Done()
				other := &client{conn: first.c.conn}
				if i > 0 {
					other = dial(t, n.address())
				}
				req := fetchRequest("a", 0, 5*time.Millisecond)
				req.SessionID, req.SessionEpoch = first.id, first.epoch+int32(i%2)
				if i == 3 {
					req.SessionEpoch = -1 // ends it
				}
				if round%2 == 0 {
					req.Topics = nil
				}
				if _, err := other.call(req); err != nil {
					t.Error(err)
				}
			}()
		}
		if _, err := produce(c, "a", "x"); err != nil {
			t.Fatal(err)
		}
		all.Wait()
	}
}
