package chaos

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/tests/node"
)

// Readers are the consumers of one group that read a load's topic and commit what they have read.
//
// Invariants:
//  1. Every acknowledged record is read at least once (Verify). A member commits what it was given and nothing more, so
//     one that was skipped by a commit would never be read.
//  2. The offset that the group committed for a partition never goes back, is never below one that was acknowledged, and
//     is not beyond what was read (watch, Verify).
type Readers struct {
	t     testing.TB
	load  *Load
	group string
	ctx   context.Context // of the consumers
	stop  context.CancelFunc
	done  sync.WaitGroup // consumers and the watch

	mu   sync.Mutex
	seen map[place]int
	// next is the offset after the last one read of each partition.
	next map[int32]int64
	// committed is the highest offset that a commit was acknowledged for.
	committed map[int32]int64
	commits   int // acknowledged
	looks     int // of watch, that were answered
}

// ReadInGroup starts consumers; they go on until Verify.
func ReadInGroup(t testing.TB, load *Load, group string, consumers int) *Readers {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	r := &Readers{t: t, load: load, group: group, ctx: ctx, stop: stop, seen: map[place]int{}, next: map[int32]int64{}, committed: map[int32]int64{}}
	for range consumers {
		r.Join()
	}
	r.done.Go(r.watch)
	return r
}

// deliberate is a leader that takes its time, so that CompletingRebalance lasts long enough to be hit.
type deliberate struct{ kgo.GroupBalancer }

// MemberBalancer is what a leader makes its assignment with.
func (d deliberate) MemberBalancer(members []kmsg.JoinGroupResponseMember) (kgo.GroupMemberBalancer, map[string]struct{}, error) {
	after(30 * time.Millisecond)
	return d.GroupBalancer.MemberBalancer(members)
}

// watch looks at what the group has committed, over and over.
func (r *Readers) watch() {
	// It looks elsewhere soon when the node that it asks is hung.
	admin := kadm.NewClient(r.load.client(kgo.DialTimeout(time.Second), kgo.RequestTimeoutOverhead(2*time.Second)))
	before := map[int32]int64{}
	for again := time.NewTicker(50 * time.Millisecond); ; <-again.C {
		if r.ctx.Err() != nil {
			again.Stop()
			return
		}
		least := r.acknowledged()
		offsets, err := admin.FetchOffsets(r.ctx, r.group)
		if err != nil || offsets.Error() != nil {
			continue // the broker is away, or looks for its coordinators
		}
		now := offsets[r.load.topic]
		for partition, last := range before {
			least[partition] = max(least[partition], last)
		}
		for partition, want := range least {
			if got, there := now[partition]; !there || got.At < want {
				r.t.Errorf("group %s, partition %d: %d was committed, %d is told (%v)", r.group, partition, want, got.At, there)
			}
		}
		for partition, o := range now {
			before[partition] = o.At
		}
		r.mu.Lock()
		r.looks++
		r.mu.Unlock()
	}
}

// acknowledged gives what the consumers know to be committed.
func (r *Readers) acknowledged() map[int32]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.committed)
}

// Join adds a consumer, until leave is called or the readers stop.
func (r *Readers) Join() (leave func()) {
	client := r.load.client(kgo.ConsumerGroup(r.group), kgo.ConsumeTopics(r.load.topic), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.SessionTimeout(6*time.Second), kgo.HeartbeatInterval(200*time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }), kgo.BlockRebalanceOnPoll(), kgo.Balancers(deliberate{kgo.CooperativeStickyBalancer()}))
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
	r.commits++
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

// Commits tells how many commits were acknowledged so far.
func (r *Readers) Commits() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.commits
}

// looked tells how often watch was answered.
func (r *Readers) looked() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.looks
}

// Await waits until n more records are read.
func (r *Readers) Await(n int) {
	r.t.Helper()
	r.await("records are read", n, r.Read)
}

// AwaitCommits waits until n more commits are acknowledged.
func (r *Readers) AwaitCommits(n int) {
	r.t.Helper()
	r.await("commits are acknowledged", n, r.Commits)
}

func (r *Readers) await(what string, more int, count func() int) {
	r.t.Helper()
	goal := count() + more
	deadline := time.Now().Add(patience)
	for count() < goal {
		if time.Now().After(deadline) {
			r.t.Fatalf("group %s: %d %s, %d are awaited", r.group, count(), what, goal)
		}
		after(10 * time.Millisecond)
	}
}

// Verify waits until everything acknowledged is read, ends the consumers and checks the invariants. The load must be
// stopped.
func (r *Readers) Verify() {
	r.t.Helper()
	node.Eventually(r.t, "everything acknowledged is read", func() bool { return r.unread() == 0 })
	node.Eventually(r.t, "somebody has told what is committed", func() bool { return r.looked() > 0 })
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
	if len(r.committed) == 0 || r.looks == 0 {
		r.t.Errorf("%d commits, looked at %d times: nothing is tested", r.commits, r.looks)
	}
	r.t.Logf("group %s: %d records read, %d commits up to %v, looked at %d times", r.group, len(r.seen), r.commits, r.committed, r.looks)
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
	admin := kadm.NewClient(r.load.client())
	var offsets kadm.OffsetResponses
	node.Eventually(r.t, "a coordinator tells what is committed", func() (told bool) {
		var err error
		offsets, err = admin.FetchOffsets(r.t.Context(), r.group)
		return err == nil || errors.Is(err, kerr.GroupIDNotFound)
	})
	stored := map[int32]int64{}
	offsets.Each(func(o kadm.OffsetResponse) { stored[o.Partition] = o.At })
	return stored
}
