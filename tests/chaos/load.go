// Package chaos breaks a broker while clients use it, and checks what it promised: nothing acknowledged is lost,
// nothing is there twice, and clients see at most errors that they retry.
package chaos

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// patience bounds the wait for a client to get over what was done to its broker.
const patience = 2 * time.Minute

// Load is a set of idempotent producers that write numbered records and remember what was acknowledged.
//
// Invariants checked by Verify, which follow from acks=all and idempotence (KIP-98):
//  1. Every acknowledged record is in the log, at the offset that it was acknowledged with.
//  2. No record is in the log twice.
//  3. The records of one producer are in the order in which it sent them.
type Load struct {
	t          testing.TB
	bootstrap  string
	topic      string
	partitions int32
	rest       time.Duration // of a producer between two records
	stop       context.CancelFunc
	writers    sync.WaitGroup

	mu    sync.Mutex
	acked map[place]string
	count int
	lost  map[string]int // how often a record was given up, by the reason
	grown chan struct{}  // closed and replaced with each acknowledgement
}

// place is where a record was acknowledged to be.
type place struct {
	partition int32
	offset    int64
}

// Start makes a topic and starts the producers; they go on until Stop. Settings are those of the topic.
func Start(t testing.TB, bootstrap string, producers int, settings map[string]string) *Load {
	t.Helper()
	return start(t, bootstrap, producers, settings, 0)
}

// Trickle is Start for tests that are about those who read: it goes on for minutes and is remembered all the same.
func Trickle(t testing.TB, bootstrap string) *Load {
	t.Helper()
	return start(t, bootstrap, 1, nil, 2*time.Millisecond)
}

func start(t testing.TB, bootstrap string, producers int, settings map[string]string, rest time.Duration) *Load {
	t.Helper()
	l := &Load{
		t: t, bootstrap: bootstrap, topic: fmt.Sprintf("load-%d", time.Now().UnixNano()), partitions: 4, rest: rest,
		acked: map[place]string{}, lost: map[string]int{}, grown: make(chan struct{}),
	}
	admin := l.client()
	configs := map[string]*string{}
	for key, value := range settings {
		configs[key] = &value
	}
	if resp, err := kadm.NewClient(admin).CreateTopic(t.Context(), l.partitions, 1, configs, l.topic); err != nil || resp.Err != nil {
		t.Fatalf("create %s: %v, %v", l.topic, err, resp.Err)
	}
	ctx, stop := context.WithCancel(t.Context())
	l.stop = stop
	for id := range producers {
		client := l.client(kgo.DefaultProduceTopic(l.topic), kgo.RecordPartitioner(kgo.ManualPartitioner()),
			kgo.ProducerBatchMaxBytes(16<<10), kgo.MaxBufferedRecords(500), kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }))
		l.writers.Add(1)
		go l.write(ctx, client, id)
	}
	return l
}

func (l *Load) client(options ...kgo.Opt) *kgo.Client {
	// A broker that is killed before its first answer looks to this client like one that wants SASL: it is told to try again.
	always := []kgo.Opt{kgo.SeedBrokers(l.bootstrap), kgo.MetadataMinAge(50 * time.Millisecond), kgo.AlwaysRetryEOF()}
	client, err := kgo.NewClient(append(always, options...)...)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(client.Close)
	return client
}

// write sends records until the load is stopped, then waits for those on their way.
func (l *Load) write(ctx context.Context, client *kgo.Client, id int) {
	defer l.writers.Done()
	for i := 0; ctx.Err() == nil; i++ {
		value := fmt.Sprintf("%d:%d:%s", id, i, strings.Repeat("x", i%512))
		r := &kgo.Record{Partition: int32(i) % l.partitions, Value: []byte(value)}
		client.Produce(context.Background(), r, func(r *kgo.Record, err error) {
			if err != nil {
				l.giveUp(err)
				return
			}
			l.acknowledge(place{r.Partition, r.Offset}, value)
		})
		if l.rest > 0 {
			after(l.rest)
		}
	}
	deadline, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := client.Flush(deadline); err != nil {
		l.t.Errorf("records are not acknowledged %v after the load: %v", patience, err)
	}
}

// giveUp counts a record that the client does not retry any more: a broken promise unless the test is over.
func (l *Load) giveUp(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost[err.Error()]++
}

func (l *Load) acknowledge(at place, value string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before, twice := l.acked[at]; twice {
		l.t.Errorf("%v was acknowledged for %.20q and for %.20q", at, before, value)
	}
	l.acked[at] = value
	l.count++
	close(l.grown)
	l.grown = make(chan struct{})
}

// Await waits until n more records are acknowledged than were at the call.
func (l *Load) Await(n int) {
	l.t.Helper()
	timeout := time.After(patience)
	l.mu.Lock()
	goal := l.count + n
	for l.count < goal {
		grown, have := l.grown, l.count
		l.mu.Unlock()
		select {
		case <-grown:
		case <-timeout:
			l.t.Fatalf("%d records were acknowledged, and none for the last while; %d are awaited", have, goal)
		}
		l.mu.Lock()
	}
	l.mu.Unlock()
}

// Stop ends the producers, after every record that they sent has been acknowledged.
func (l *Load) Stop() {
	l.stop()
	l.writers.Wait()
}

// Verify reads the whole topic and checks the invariants of Load. The load must be stopped.
func (l *Load) Verify() {
	l.t.Helper()
	stored := l.read()
	l.mu.Lock()
	defer l.mu.Unlock()
	for at, want := range l.acked {
		if got, there := stored[at]; !there {
			l.t.Errorf("%v was acknowledged and is not there", at)
		} else if got != want {
			l.t.Errorf("%v was acknowledged for %.20q and holds %.20q", at, want, got)
		}
	}
	for reason, n := range l.lost {
		l.t.Errorf("%d records were given up: %s", n, reason)
	}
	l.verifyOrder(stored)
	l.t.Logf("%d records acknowledged, %d stored", len(l.acked), len(stored))
}

// verifyOrder checks invariants 2 and 3: in each partition the numbers of a producer rise.
func (l *Load) verifyOrder(stored map[place]string) {
	l.t.Helper()
	for p := range l.partitions {
		last := map[string]int{}
		for offset := int64(0); ; offset++ {
			value, there := stored[place{p, offset}]
			if !there {
				break
			}
			fields := strings.SplitN(value, ":", 3)
			n, err := strconv.Atoi(fields[1])
			if before, known := last[fields[0]]; err != nil || known && n <= before {
				l.t.Errorf("partition %d, offset %d: record %d of producer %s follows its %d", p, offset, n, fields[0], before)
			}
			last[fields[0]] = n
		}
	}
}

// read gives every record of the topic.
func (l *Load) read() map[place]string {
	l.t.Helper()
	ends, err := kadm.NewClient(l.client()).ListEndOffsets(l.t.Context(), l.topic)
	if err != nil || ends.Error() != nil {
		l.t.Fatal(err, ends.Error())
	}
	left := map[int32]int64{}
	starts := map[int32]kgo.Offset{}
	ends.Each(func(end kadm.ListedOffset) {
		starts[end.Partition] = kgo.NewOffset().AtStart()
		if end.Offset > 0 {
			left[end.Partition] = end.Offset
		}
	})
	reader := l.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{l.topic: starts}))
	ctx, cancel := context.WithTimeout(l.t.Context(), patience)
	defer cancel()
	stored := map[place]string{}
	for len(left) > 0 {
		fetches := reader.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			l.t.Fatalf("read back, with %v to go: %v", left, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			stored[place{r.Partition, r.Offset}] = string(r.Value)
			if r.Offset+1 >= left[r.Partition] {
				delete(left, r.Partition)
			}
		})
	}
	return stored
}

// after waits for a span of the broker's life to pass, such as the time until it is killed.
func after(d time.Duration) { <-time.NewTimer(d).C }
