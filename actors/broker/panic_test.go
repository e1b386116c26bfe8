package broker

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// load is a real client at work: an idempotent producer and a consumer of one partition, until it is stopped.
type load struct {
	t        *testing.T
	topic    string
	client   *kgo.Client
	cancel   context.CancelFunc
	done     sync.WaitGroup
	produced atomic.Int64
	consumed atomic.Int64
}

func startLoad(t *testing.T, address, topic string) *load {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.DefaultProduceTopic(topic), kgo.ProducerLinger(0),
		kgo.RetryBackoffFn(func(int) time.Duration { return 5 * time.Millisecond }), kgo.MetadataMinAge(10*time.Millisecond),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}), kgo.FetchMaxWait(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{t: t, topic: topic, client: client, cancel: cancel}
	l.done.Add(2)
	go l.produce(ctx)
	go l.consume()
	return l
}

// produce numbers the records. A client that sees anything but errors it may retry gives one of them up.
func (l *load) produce(ctx context.Context) {
	defer l.done.Done()
	var answered sync.WaitGroup
	for i := 0; ctx.Err() == nil; i++ {
		if i%100 == 0 {
			answered.Wait() // a hundred at a time
		}
		answered.Add(1)
		l.client.Produce(context.Background(), kgo.StringRecord(strconv.Itoa(i)), func(_ *kgo.Record, err error) {
			defer answered.Done()
			if err != nil {
				l.t.Errorf("record %d: %v", i, err)
				l.cancel()
			}
			l.produced.Add(1)
		})
	}
	answered.Wait()
}

// consume checks that every record comes once and in order.
func (l *load) consume() {
	defer l.done.Done()
	for {
		fetches := l.client.PollFetches(context.Background())
		if fetches.IsClientClosed() {
			return
		}
		fetches.EachError(func(_ string, _ int32, err error) { l.t.Errorf("fetch: %v", err) })
		fetches.EachRecord(func(r *kgo.Record) {
			if want := l.consumed.Load(); string(r.Value) != strconv.FormatInt(want, 10) {
				l.t.Errorf("offset %d holds %s, want %d", r.Offset, r.Value, want)
			}
			l.consumed.Add(1)
		})
	}
}

// stop ends the load when what was produced has been consumed.
func (l *load) stop() {
	l.t.Helper()
	l.cancel()
	last := int64(-1)
	eventually(l.t, "everything produced is consumed", func() bool {
		now := l.produced.Load()
		same := now == last
		last = now
		return same && l.consumed.Load() >= now && l.client.BufferedProduceRecords() == 0
	})
	l.client.Close()
	l.done.Wait()
}

// advances waits until so many more records went through.
func (l *load) advances(by int64) {
	l.t.Helper()
	from := l.consumed.Load()
	eventually(l.t, fmt.Sprintf("%d more records go through", by), func() bool { return l.consumed.Load() >= from+by || l.t.Failed() })
}

func TestAPanicOfAnyActorCostsClientsNothing(t *testing.T) {
	n := newNode(t, 1)
	n.start()
	if err := createTopic(dial(t, n.address()), "load", map[string]string{"segment.ms": "50"}); err != nil {
		t.Fatal(err)
	}
	l := startLoad(t, n.address(), "load")
	l.advances(100)
	for _, name := range onePerKind(n) {
		ref, ok := n.system.Find(name)
		if !ok {
			t.Fatalf("%s is gone", name)
		}
		for strike := range uint32(2) {
			ref.Panic()
			eventually(t, name+" is restarted", func() bool { return n.restarts(name) >= strike+1 })
			l.advances(50)
		}
		if t.Failed() {
			t.Fatalf("after %s panicked", name)
		}
	}
	// The controller, the producer ids and the topic's life go on as well.
	c := dial(t, n.address())
	eventually(t, "a topic is created, written to and deleted", func() bool {
		if err := createTopic(c, "other", nil); err != nil {
			return false
		}
		_, produceErr := produce(c, "other", "x")
		return produceErr == nil && deleteTopic(c, "other") == nil
	})
	if _, err := producerID(c); err != nil {
		t.Errorf("producer id: %v", err)
	}
	l.stop()
	n.stopClean()
	n.start()
	log, err := fetchAll(dial(t, n.address()), "load", 0)
	if err != nil || int64(len(log)) < l.produced.Load() {
		t.Errorf("after a restart the log has %d records, %d were acknowledged: %v", len(log), l.produced.Load(), err)
	}
}

// onePerKind names an actor of each kind, of the replicas, shards and lanes those that the load goes through.
func onePerKind(n *node) []string {
	replica := ""
	for _, a := range n.system.Tree() {
		if strings.HasSuffix(a.Name, "/load-0") {
			replica = a.Name
		}
	}
	names := []string{replica, replica[:strings.LastIndexByte(replica, '/')]}
	for _, a := range n.system.Tree() {
		if a.Kind != "replica" && a.Kind != "shard" {
			names = append(names, a.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
