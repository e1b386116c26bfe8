// Package chaos breaks a broker while clients use it, and checks what it promised: nothing acknowledged is lost,
// nothing is there twice, and clients see at most errors that they retry.
package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// patience bounds the wait for a client to get over what was done to its broker.
const patience = 2 * time.Minute

// Load is a set of idempotent producers that write numbered records and remember what was acknowledged.
type Load struct {
	t          testing.TB
	bootstrap  string
	topic      string
	partitions int32
	options    Options
	stop       context.CancelFunc
	writers    sync.WaitGroup

	mu      sync.Mutex
	acked   map[place]string
	count   int
	givenUp map[string]int // how often a record was, by the reason
	grown   chan struct{}  // closed and replaced with each acknowledgement
	pace    map[int32]pace
}

// Options says what a load is like. The zero value is of one producer that writes as fast as it can to four partitions of
// one replica.
type Options struct {
	Producers  int
	Partitions int32
	Replicas   int16
	Settings   map[string]string // of the topic
	Rest       time.Duration     // of a producer between two records
	Client     []kgo.Opt         // of the producers
}

// pace is how a partition acknowledges: how often it did, when last, and the longest time that it did not.
type pace struct {
	count int
	last  time.Time
	gap   time.Duration
}

// place is where a record was acknowledged to be.
type place struct {
	partition int32
	offset    int64
}

// Start makes a topic and starts the producers; they go on until Stop. Settings are those of the topic.
func Start(t testing.TB, bootstrap string, producers int, settings map[string]string) *Load {
	t.Helper()
	return StartWith(t, bootstrap, Options{Producers: producers, Settings: settings})
}

// Trickle is Start for tests that are about those who read: it goes on for minutes and is remembered all the same.
func Trickle(t testing.TB, bootstrap string) *Load {
	t.Helper()
	return StartWith(t, bootstrap, Options{Rest: 2 * time.Millisecond})
}

// StartWith is Start for whoever wants more than that. Several bootstrap addresses stand between commas.
func StartWith(t testing.TB, bootstrap string, o Options) *Load {
	t.Helper()
	o.Producers, o.Partitions, o.Replicas = max(o.Producers, 1), cmp.Or(o.Partitions, 4), max(o.Replicas, 1)
	l := &Load{
		t: t, bootstrap: bootstrap, topic: fmt.Sprintf("load-%d", time.Now().UnixNano()), partitions: o.Partitions, options: o,
		acked: map[place]string{}, givenUp: map[string]int{}, grown: make(chan struct{}), pace: map[int32]pace{},
	}
	admin := l.client()
	configs := map[string]*string{}
	for key, value := range o.Settings {
		configs[key] = &value
	}
	_, err := kadm.NewClient(admin).CreateTopic(t.Context(), l.partitions, o.Replicas, configs, l.topic)
	// An answer may be lost with the controller: who asks again hears that the topic is there.
	if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		t.Fatalf("create %s: %v", l.topic, err)
	}
	// A producer that rests may buffer more: while a partition is away, it goes on with the others.
	buffered := 500
	if o.Rest > 0 {
		buffered = 50_000
	}
	ctx, stop := context.WithCancel(t.Context())
	l.stop = stop
	for id := range o.Producers {
		client := l.client(slices.Concat([]kgo.Opt{
			kgo.DefaultProduceTopic(l.topic), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(16 << 10),
			kgo.MaxBufferedRecords(buffered), kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }),
		}, o.Client)...)
		l.writers.Add(1)
		go l.write(ctx, client, id)
	}
	return l
}

// Topic is the topic that the load writes to.
func (l *Load) Topic() string { return l.topic }

func (l *Load) client(options ...kgo.Opt) *kgo.Client {
	l.mu.Lock()
	bootstrap := strings.Split(l.bootstrap, ",")
	l.mu.Unlock()
	// A broker that is killed before its first answer looks to this client like one that wants SASL: it is told to try again.
	always := []kgo.Opt{kgo.SeedBrokers(bootstrap...), kgo.MetadataMinAge(50 * time.Millisecond), kgo.AlwaysRetryEOF()}
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
		if l.options.Rest > 0 {
			after(l.options.Rest)
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
	l.givenUp[err.Error()]++
}

func (l *Load) acknowledge(at place, value string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before, twice := l.acked[at]; twice {
		l.t.Errorf("%v was acknowledged for %.20q and for %.20q", at, before, value)
	}
	l.acked[at] = value
	l.count++
	now, before := time.Now(), l.pace[at.partition]
	if !before.last.IsZero() {
		before.gap = max(before.gap, now.Sub(before.last))
	}
	before.count, before.last = before.count+1, now
	l.pace[at.partition] = before
	close(l.grown)
	l.grown = make(chan struct{})
}

// Reach has clients that come later use other bootstrap addresses: the first may be gone by then.
func (l *Load) Reach(bootstrap string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bootstrap = bootstrap
}

// Acknowledged tells how many records were so far.
func (l *Load) Acknowledged() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// Await waits until n more records are acknowledged than were at the call.
func (l *Load) Await(n int) {
	l.t.Helper()
	l.mu.Lock()
	goal := l.count + n
	l.mu.Unlock()
	l.await(func() (bool, string) {
		return l.count >= goal, fmt.Sprintf("%d records were acknowledged, %d are awaited", l.count, goal)
	})
}

// AwaitEach waits until each partition has acknowledged n more records than at the call.
func (l *Load) AwaitEach(n int) {
	l.t.Helper()
	l.mu.Lock()
	before := maps.Clone(l.pace)
	l.mu.Unlock()
	l.await(func() (bool, string) {
		for p := range l.partitions {
			if have, goal := l.pace[p].count, before[p].count+n; have < goal {
				return false, fmt.Sprintf("partition %d has acknowledged %d records, %d are awaited", p, have, goal)
			}
		}
		return true, ""
	})
}

// await waits until a condition holds, which is asked under the lock after each acknowledgement.
func (l *Load) await(holds func() (bool, string)) {
	l.t.Helper()
	timeout := time.After(patience)
	for {
		l.mu.Lock()
		ok, lacks := holds()
		grown := l.grown
		l.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-grown:
		case <-timeout:
			l.t.Fatalf("after %v %s", patience, lacks)
		}
	}
}

// Stop ends the producers, after every record that they sent has been acknowledged.
func (l *Load) Stop() {
	l.stop()
	l.writers.Wait()
}

// after waits for a span of the broker's life to pass, such as the time until it is killed.
func after(d time.Duration) { <-time.NewTimer(d).C }
