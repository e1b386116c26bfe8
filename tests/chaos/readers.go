package chaos

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/tests/node"
)

// Readers are the consumers of one group that read a load's topic and commit what they have read.
//
// Invariants, of which Watch and Verify tell:
//  1. Every acknowledged record is read at least once.
//  2. The offset that the group committed for a partition never goes back, nor beyond what was read.
type Readers struct {
	t     testing.TB
	load  *Load
	group string
	ctx   context.Context // of the consumers
	stop  context.CancelFunc
	done  sync.WaitGroup

	mu   sync.Mutex
	seen map[place]int
	// next is the offset after the last one read of each partition.
	next map[int32]int64
	// committed is the highest offset that a commit was acknowledged for.
	committed map[int32]int64
}

// ReadInGroup starts consumers; they go on until Verify.
func ReadInGroup(t testing.TB, load *Load, group string, consumers int) *Readers {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	r := &Readers{t: t, load: load, group: group, ctx: ctx, stop: stop, seen: map[place]int{}, next: map[int32]int64{}, committed: map[int32]int64{}}
	for range consumers {
		r.Join()
	}
	return r
}

// Join adds a consumer, until leave is called or the readers stop.
func (r *Readers) Join() (leave func()) {
	client := r.load.client(kgo.ConsumerGroup(r.group), kgo.ConsumeTopics(r.load.topic), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.SessionTimeout(6*time.Second), kgo.HeartbeatInterval(200*time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }), kgo.BlockRebalanceOnPoll())
	ctx, leave := context.WithCancel(r.ctx)
	r.done.Add(1)
	go r.read(ctx, client)
	return leave
}

func (r *Readers) read(ctx context.Context, client *kgo.Client) {
	defer r.done.Done()
	defer client.CloseAllowingRebalance()
	for ctx.Err() == nil {
		fetches := client.PollRecords(ctx, 500)
		fetches.EachRecord(r.take)
		if !fetches.Empty() {
			r.commit(ctx, client)
		}
		client.AllowRebalance()
	}
}

func (r *Readers) take(rec *kgo.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen[place{rec.Partition, rec.Offset}]++
	r.next[rec.Partition] = max(r.next[rec.Partition], rec.Offset+1)
}

// commit commits what was polled. One that fails is made good by the next one, or by reading again.
func (r *Readers) commit(ctx context.Context, client *kgo.Client) {
	within, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	offsets := client.UncommittedOffsets()
	if err := client.CommitUncommittedOffsets(within); err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for partition, o := range offsets[r.load.topic] {
		r.committed[partition] = max(r.committed[partition], o.Offset)
	}
}

// Read tells how many different records were read so far.
func (r *Readers) Read() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.seen)
}

// Await waits until n more records are read.
func (r *Readers) Await(n int) {
	r.t.Helper()
	goal := r.Read() + n
	deadline := time.Now().Add(patience)
	for r.Read() < goal {
		if time.Now().After(deadline) {
			r.t.Fatalf("%d records are read, %d are awaited", r.Read(), goal)
		}
		after(10 * time.Millisecond)
	}
}

// Verify waits until everything acknowledged is read, ends the consumers and checks the invariants. The load must be
// stopped.
func (r *Readers) Verify() {
	r.t.Helper()
	node.Eventually(r.t, "everything acknowledged is read", func() bool { return r.unread() == 0 })
	r.stop()
	r.done.Wait()
	stored := r.fetch()
	r.mu.Lock()
	defer r.mu.Unlock()
	for partition, want := range r.committed {
		switch got := stored[partition]; {
		case got < want:
			r.t.Errorf("partition %d: %d was committed, %d is stored", partition, want, got)
		case got > r.next[partition]:
			r.t.Errorf("partition %d: %d is stored, but only what is before %d was read", partition, got, r.next[partition])
		}
	}
	if len(r.committed) == 0 {
		r.t.Error("nothing was committed")
	}
	r.t.Logf("%d records read, committed %v", len(r.seen), r.committed)
}

// unread counts the records that were acknowledged and not read.
func (r *Readers) unread() (n int) {
	r.load.mu.Lock()
	defer r.load.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	for at := range r.load.acked {
		if r.seen[at] == 0 {
			n++
		}
	}
	return n
}

// fetch gives what the group has committed.
func (r *Readers) fetch() map[int32]int64 {
	r.t.Helper()
	offsets, err := kadm.NewClient(r.load.client()).FetchOffsets(r.t.Context(), r.group)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		r.t.Fatal(err)
	}
	stored := map[int32]int64{}
	offsets.Each(func(o kadm.OffsetResponse) { stored[o.Partition] = o.At })
	return stored
}
