package broker

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/batch"
	"troupe/internal/model"
)

// update is a record of a compacted topic; a nil value deletes the key.
func update(key string, value []byte) batch.View {
	v, err := batch.NewBuilder(batch.Options{}).
		Add(batch.Record{Timestamp: time.Now().UnixMilli(), Key: []byte(key), Value: value}).Build()
	if err != nil {
		panic(err)
	}
	return v
}

// compactedTopic is cleaned as soon as a segment is full.
var compactedTopic = map[string]string{
	"cleanup.policy": "compact", "internal.segment.bytes": "8192", "min.cleanable.dirty.ratio": "0.01",
	"file.delete.delay.ms": "1", "delete.retention.ms": "3600000",
}

// table reads a topic as an application that keeps the newest value of each key.
func table(t *testing.T, c *client, topic string) map[string]string {
	t.Helper()
	out, from := map[string]string{}, int64(0)
	for {
		req := fetchRequest(topic, from, 0)
		resp, err := c.call(req)
		if err != nil {
			t.Fatal(err)
		}
		p := resp.(*kmsg.FetchResponse).Topics[0].Partitions[0]
		if err := coded(p.ErrorCode); err != nil {
			t.Fatalf("fetch from %d: %v", from, err)
		}
		for rest := p.RecordBatches; len(rest) > 0; {
			var v batch.View
			if v, rest, err = batch.First(rest); err != nil {
				t.Fatal(err)
			}
			err := v.Each(func(r batch.Record) error {
				if r.Value == nil {
					delete(out, string(r.Key))
				} else {
					out[string(r.Key)] = string(r.Value)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			from = int64(v.NextOffset())
		}
		if from >= p.HighWatermark {
			return out
		}
	}
}

func same(t *testing.T, got, want map[string]string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d keys are left, want %d", len(got), len(want))
	}
	for k, v := range want {
		if got[k] != v {
			t.Fatalf("%s is %q, want %q", k, got[k], v)
		}
	}
}

func TestACompactedTopicStaysSmallAndLosesNoKey(t *testing.T) {
	n := newNode(t, 1, "log.cleaner.backoff.ms=5")
	n.start()
	c := dial(t, n.address())
	if err := createTopic(c, "table", compactedTopic); err != nil {
		t.Fatal(err)
	}
	tp := model.TopicPartition{Topic: "table"}
	random := rand.New(rand.NewPCG(1, 1))
	want := map[string]string{}
	write := func(records int) {
		for i := range records {
			key := fmt.Sprintf("key-%d", random.IntN(40))
			value := []byte(fmt.Sprintf("%d-%0100d", i, random.Int()))
			want[key] = string(value)
			if random.IntN(20) == 0 {
				value = nil
				delete(want, key)
			}
			if _, err := c.call(produceRequest("table", -1, update(key, value))); err != nil {
				t.Fatal(err)
			}
		}
	}
	small := func() bool { return n.replicas.Get(tp).Size() < 4*8192 }
	for round := range 4 {
		write(400)
		eventually(t, "the log is small", small)
		same(t, table(t, c, "table"), want)
		switch round {
		case 0: // its cleaner panics
			ref, ok := n.system.Find("disks/data/cleaner")
			if !ok {
				t.Fatal("there is no cleaner")
			}
			ref.Panic()
			eventually(t, "the cleaner is restarted", func() bool { return n.restarts("disks/data/cleaner") > 0 })
		case 1:
			n.stopClean()
		case 2:
			n.cutPower()
		}
		if n.Broker == nil {
			n.start()
			c = dial(t, n.address())
			if round == 2 { // what was not synced may be gone, so the table is read anew
				eventually(t, "the log is open", func() bool { return n.replicas.Get(tp).View() != nil })
				want = table(t, c, "table")
			}
			same(t, table(t, c, "table"), want)
		}
	}
	if got := n.dirs[0].Cleaning.Uncleanable.Load(); got != 0 {
		t.Errorf("%d logs are set aside", got)
	}
}
