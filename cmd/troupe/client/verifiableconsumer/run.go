package verifiableconsumer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
	"troupe/cmd/troupe/client/progress"
	"troupe/cmd/troupe/client/verifiable"
)

const (
	// pollRecords is the Java consumer's max.poll.records: what comes of one poll is one event and one commit.
	pollRecords = 500
	// leaveTimeout is how long the Java consumer's close takes at most.
	leaveTimeout = 30 * time.Second
)

// member reads by a plan. Events come from its own goroutine and, about partitions, from the client's.
type member struct {
	*plan
	client *connection.Client
	events *verifiable.Log
	errs   io.Writer
	read   int64
}

// run reads until there was enough or an interrupt. Like the script it ends well even if reading failed, which is told on
// standard error.
func (p *plan) run(ctx context.Context, errs io.Writer, events *verifiable.Log, line *progress.Line) error {
	m := &member{plan: p, events: events, errs: errs}
	// Partitions that are lost are no longer the member's to commit; the script tells both alike.
	gone := func(_ context.Context, partitions map[string][]int32) {
		if all := listed(partitions); len(all) > 0 {
			events.Tell(changed{verifiable.Now("partitions_revoked"), all})
		}
	}
	opts := append(p.options,
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, got map[string][]int32) {
			events.Tell(changed{verifiable.Now("partitions_assigned"), listed(got)})
		}),
		kgo.OnPartitionsRevoked(func(ctx context.Context, cl *kgo.Client, partitions map[string][]int32) {
			// With a callback of one's own the client does not commit by itself.
			if err := cl.CommitMarkedOffsets(ctx); err != nil {
				fmt.Fprintf(errs, "Committing before a rebalance failed: %s\n", err)
			}
			gone(ctx, partitions)
		}),
		kgo.OnPartitionsLost(func(ctx context.Context, _ *kgo.Client, partitions map[string][]int32) { gone(ctx, partitions) }))
	client, err := connection.Open(p.bootstrap, p.props, "consumer-1", errs, opts...)
	if err != nil {
		return option.Fail("Failed to construct kafka consumer: %s", err)
	}
	defer client.Close()
	m.client = client
	// Before anything is asked of a broker, as in the script: it tells that the process is there.
	events.Tell(verifiable.Now("startup_complete"))
	if err := m.consume(ctx, line); err != nil {
		fmt.Fprintf(errs, "Error during processing, terminating consumer process: %s\n", err)
	}
	line.Clear()
	// The script asks for the shutdown when it is interrupted, and once more when it ends by itself.
	if ctx.Err() != nil {
		events.Tell(verifiable.Now("shutdown_requested"))
	}
	m.leave(ctx)
	events.Tell(verifiable.Now("shutdown_complete"))
	if ctx.Err() == nil {
		events.Tell(verifiable.Now("shutdown_requested"))
	}
	return events.Err()
}

// leave commits what is still to commit and leaves the group, interrupted or not.
func (m *member) leave(ctx context.Context) {
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	m.client.AllowRebalance()
	if err := m.client.CommitMarkedOffsets(within); err != nil {
		fmt.Fprintf(m.errs, "Committing at the end failed: %s\n", err)
	}
	if err := m.client.LeaveGroupContext(within); err != nil {
		fmt.Fprintf(m.errs, "Leaving the group failed: %s\n", err)
	}
}

// consume polls, tells and commits, poll by poll. A rebalance waits from a poll until its records are told and committed,
// so that no other member is told of them too.
func (m *member) consume(ctx context.Context, line *progress.Line) error {
	for (m.max < 0 || m.read < m.max) && ctx.Err() == nil && m.events.Err() == nil {
		fetches := m.client.PollRecords(ctx, pollRecords)
		for _, e := range fetches.Errors() {
			var known *kerr.Error
			switch {
			// What a broker answers may pass; what the client itself gives up does not.
			case errors.As(e.Err, &known) && !known.Retriable:
				return e.Err
			case errors.Is(e.Err, context.Canceled), errors.As(e.Err, &known):
			default:
				return e.Err
			}
		}
		// A poll without records is nothing to tell: the script's waits until there are some.
		if fetches.NumRecords() > 0 {
			offsets := m.tell(fetches)
			if !m.autoCommit {
				m.commit(ctx, offsets)
			}
		}
		line.Show("%d records", m.read)
		m.client.AllowRebalance()
	}
	return nil
}

// tell writes the events of a poll and gives what may be committed: no more than was told.
func (m *member) tell(fetches kgo.Fetches) []commit {
	event := consumed{Count: fetches.NumRecords(), Partitions: []span{}}
	offsets := []commit{}
	fetches.EachPartition(func(f kgo.FetchTopicPartition) {
		records := f.Records
		if m.max >= 0 {
			records = records[:min(int64(len(records)), m.max-m.read)]
		}
		if len(records) == 0 {
			return
		}
		m.read += int64(len(records))
		if m.verbose {
			for _, r := range records {
				m.events.Tell(told(r))
			}
		}
		last := records[len(records)-1]
		if m.autoCommit {
			m.client.MarkCommitRecords(last)
		}
		from := partition{f.Topic, f.Partition}
		event.Partitions = append(event.Partitions, span{from, len(records), records[0].Offset, last.Offset})
		offsets = append(offsets, commit{from, last.Offset + 1})
	})
	event.Head = verifiable.Now("records_consumed")
	m.events.Tell(event)
	return offsets
}

// commit commits and waits, as the script does: what is told as committed is. An interrupt does not keep it from that.
func (m *member) commit(ctx context.Context, offsets []commit) {
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.client.Timeout)
	defer cancel()
	uncommitted := map[string]map[int32]kgo.EpochOffset{}
	for _, o := range offsets {
		if uncommitted[o.Topic] == nil {
			uncommitted[o.Topic] = map[int32]kgo.EpochOffset{}
		}
		// Without a leader epoch, as the script commits.
		uncommitted[o.Topic][o.Partition] = kgo.EpochOffset{Epoch: -1, Offset: o.Offset}
	}
	event := committed{Offsets: offsets, Success: true}
	m.client.CommitOffsetsSync(within, uncommitted, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, answer *kmsg.OffsetCommitResponse, err error) {
		if err == nil {
			err = refused(answer)
		}
		if err != nil {
			event.Error, event.Success = err.Error(), false
		}
	})
	event.Head = verifiable.Now("offsets_committed")
	m.events.Tell(event)
}

// refused gives the first error of an answer.
func refused(answer *kmsg.OffsetCommitResponse) error {
	for _, topic := range answer.Topics {
		for _, p := range topic.Partitions {
			if err := kafkatext.Answer(p.ErrorCode, nil); err != nil {
				return err
			}
		}
	}
	return nil
}
