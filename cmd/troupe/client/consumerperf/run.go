package consumerperf

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/option"
)

const (
	// pollWait and pollRecords are those of the script's polls: its clock and its count are looked at between polls.
	pollWait    = 100 * time.Millisecond
	pollRecords = 500
	// closeTimeout is how long the Java consumer's close waits for the last commit.
	closeTimeout = 30 * time.Second
)

// rebalances measures the time without partitions: from the start, or from when the last was taken away, until there are
// some again. Its methods are called on the client's goroutines.
type rebalances struct {
	mu       sync.Mutex
	assigned int
	since    time.Time
	total    time.Duration
	round    time.Duration // since the last line of --show-detailed-stats
}

// gained ends the time without partitions, if there was none before. In a cooperative rebalance partitions stay, and
// reading goes on: that is no time lost.
func (r *rebalances) gained(partitions map[string][]int32, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.assigned == 0 {
		r.total += now.Sub(r.since)
		r.round += now.Sub(r.since)
	}
	r.assigned += count(partitions)
}

// lost begins it, once nothing is left to read from.
func (r *rebalances) lost(partitions map[string][]int32, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.assigned -= count(partitions); r.assigned == 0 {
		r.since = now
	}
}

// take gives the times in milliseconds and begins a new round.
func (r *rebalances) take() (total, round int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	total, round = r.total.Milliseconds(), r.round.Milliseconds()
	r.round = 0
	return total, round
}

func count(partitions map[string][]int32) int {
	n := 0
	for _, numbers := range partitions {
		n += len(numbers)
	}
	return n
}

// run reads the records and prints the figures. An interrupt ends the reading; what was read is counted and committed.
func (p *plan) run(ctx context.Context, s option.Streams) error {
	began := time.Now()
	r := &rebalances{since: began}
	// The client calls them before it fetches from what was assigned, so the clock of a rebalance stops in time.
	opts := append(p.options,
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, got map[string][]int32) { r.gained(got, time.Now()) }),
		kgo.OnPartitionsRevoked(func(ctx context.Context, cl *kgo.Client, gone map[string][]int32) {
			// With a callback of one's own the client does not commit by itself. A commit that fails here costs the next
			// owner some records twice, and no figure.
			if err := cl.CommitMarkedOffsets(ctx); err != nil {
				fmt.Fprintf(s.Err, "Committing before a rebalance failed: %s\n", err)
			}
			r.lost(gone, time.Now())
		}),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, gone map[string][]int32) { r.lost(gone, time.Now()) }))
	client, err := connection.Open(p.bootstrap, p.props, "perf-consumer-client", s.Err, opts...)
	if err != nil {
		return option.Fail("Failed to construct kafka consumer: %s", err)
	}
	defer client.Close()
	read, err := p.consume(ctx, client.Client, r, s)
	ended := time.Now()
	p.progress.Clear()
	if err != nil {
		return option.Fail("%s", err)
	}
	if err := leave(ctx, client.Client); err != nil {
		return err
	}
	total, _ := r.take()
	t := newSummary(began, ended, read, total)
	switch {
	case p.json:
		return option.WriteJSON(s, t)
	case !p.detailed:
		fmt.Fprintln(s.Out, t.line(p.date))
	}
	return nil
}

// leave commits what was read and leaves the group, interrupted or not.
func leave(ctx context.Context, client *kgo.Client) error {
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	// A rebalance waits for the last poll to be done with; the commit would wait for the rebalance.
	client.AllowRebalance()
	if err := client.CommitMarkedOffsets(within); err != nil {
		return err
	}
	return client.LeaveGroupContext(within)
}

// consume polls until there were enough records, or none for too long. A poll may bring more than are wanted: they were
// read, and count, as in the script. The clock is read once a poll, not once a record.
func (p *plan) consume(ctx context.Context, client *kgo.Client, r *rebalances, s option.Streams) (volume, error) {
	var all, reported volume
	now := time.Now()
	lastReport, lastRecord := now, now
	for all.records < p.records && now.Sub(lastRecord).Milliseconds() <= p.timeoutMs && ctx.Err() == nil {
		wait, cancel := context.WithTimeout(ctx, pollWait)
		fetches := client.PollRecords(wait, pollRecords)
		cancel()
		now = time.Now()
		if err := lasting(fetches); err != nil {
			return all, err
		}
		for it := fetches.RecordIter(); !it.Done(); {
			record := it.Next()
			lastRecord = now
			all.records++
			all.bytes += int64(len(record.Key) + len(record.Value))
			client.MarkCommitRecords(record)
			// The interval is judged at each record, as in the script: a line may come in the middle of a poll.
			if now.Sub(lastReport).Milliseconds() < p.interval {
				continue
			}
			_, round := r.take()
			if p.detailed && !p.json {
				p.progress.Clear()
				fmt.Fprintln(s.Out, detail(all, reported, lastReport, now, round, p.date))
			}
			lastReport, reported = now, all
		}
		p.progress.Show("%d records, %s MB", all.records, fixed(all.megabytes()))
		client.AllowRebalance()
	}
	if all.records < p.records && ctx.Err() == nil && !p.json {
		p.progress.Clear()
		fmt.Fprintf(s.Out, "WARNING: Exiting before consuming the expected number of records: timeout (%d ms) exceeded. "+
			"You can use the --timeout option to increase the timeout.\n", p.timeoutMs)
	}
	return all, nil
}

// lasting gives the first error of a poll that will not pass by itself; a poll that found nothing in time has none.
func lasting(fetches kgo.Fetches) error {
	for _, e := range fetches.Errors() {
		var known *kerr.Error
		if errors.As(e.Err, &known) && !known.Retriable {
			return e.Err
		}
	}
	return nil
}
