package consume

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/cmd/troupe/client/option"
	"troupe/cmd/troupe/client/progress"
)

// printer polls and prints until its limit, its timeout, an interrupt or an error that does not pass.
type printer struct {
	streams    option.Streams
	formatter  recordWriter
	limit      int64 // -1: none
	timeout    time.Duration
	limited    bool // whether timeout counts
	skipErrors bool
	quiet      bool // print nothing, only count
	json       bool
	line       *progress.Line

	client  *kgo.Client
	grouped bool
	commits bool // whether a member commits what it printed
	count   int64
	warned  map[string]bool
}

// recordWriter is one of Kafka's formatters, which --formatter names.
type recordWriter interface {
	write(w *bufio.Writer, r *kgo.Record) error
}

// run prints, and reports how many records there were whatever ends it.
func (p *printer) run(ctx context.Context) error {
	out := bufio.NewWriterSize(p.streams.Out, 64<<10)
	err := p.consume(ctx, out)
	p.line.Clear()
	if flushed := out.Flush(); flushed != nil && err == nil {
		fmt.Fprintln(p.streams.Err, "Unable to write to standard out, closing consumer.")
	}
	if committed := p.leave(ctx); committed != nil && err == nil {
		err = committed
	}
	fmt.Fprintf(p.streams.Err, "Processed a total of %d messages\n", p.count)
	return err
}

// leaveTimeout is how long a member that ends waits for its last commit: the Java consumer's close has as long.
const leaveTimeout = 30 * time.Second

// leave commits what was printed and leaves the group, so that the others get the partitions now and not after the
// session timeout. An interrupt must not keep it from that.
func (p *printer) leave(ctx context.Context) error {
	if !p.grouped {
		return nil
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	// A rebalance that waits for this poll would keep the commit waiting in turn.
	p.client.AllowRebalance()
	var err error
	if p.commits {
		err = p.client.CommitMarkedOffsets(within)
	}
	if left := p.client.LeaveGroupContext(within); left != nil && err == nil {
		err = left
	}
	return err
}

// consume flushes after each poll, so that lines appear when they come and not when a buffer is full.
func (p *printer) consume(ctx context.Context, out *bufio.Writer) error {
	last := time.Now()
	for p.limit < 0 || p.count < p.limit {
		wait, cancel := ctx, context.CancelFunc(func() {})
		if p.limited {
			wait, cancel = context.WithDeadline(ctx, last.Add(p.timeout))
		}
		fetches := p.client.PollFetches(wait)
		cancel()
		if err := p.problems(fetches); err != nil {
			return err
		}
		// A poll may bring more than the limit; what is beyond it is neither shown nor committed.
		for it := fetches.RecordIter(); !it.Done() && (p.limit < 0 || p.count < p.limit); {
			// A record that cannot be printed counts, too: it was processed.
			r := it.Next()
			p.count++
			last = time.Now()
			if err := p.print(out, r); err != nil {
				return err
			}
			if p.commits {
				p.client.MarkCommitRecords(r)
			}
		}
		if err := out.Flush(); err != nil {
			return nil // said in run; the other end of a pipe going away is no failure
		}
		p.line.Show("%d records", p.count)
		if p.grouped {
			p.client.AllowRebalance()
		}
		if wait.Err() != nil && fetches.NumRecords() == 0 {
			return nil
		}
	}
	return nil
}

// print writes one record. With --skip-message-on-error one that cannot be written is reported and left out.
func (p *printer) print(out *bufio.Writer, r *kgo.Record) error {
	var err error
	switch {
	case p.quiet:
	case p.json:
		err = json.NewEncoder(out).Encode(toJSON(r))
	default:
		err = p.formatter.write(out, r)
	}
	if err != nil && p.skipErrors {
		p.line.Clear()
		fmt.Fprintf(p.streams.Err, "Error processing message, skipping this message: %s\n", err)
		return nil
	}
	return err
}

// problems tells of each kind of trouble once, and returns the one that will not pass. Polls that only timed out are
// no trouble.
func (p *printer) problems(fetches kgo.Fetches) error {
	for _, e := range fetches.Errors() {
		if errors.Is(e.Err, context.DeadlineExceeded) || errors.Is(e.Err, context.Canceled) {
			continue
		}
		text := trouble(e)
		var known *kerr.Error
		if errors.As(e.Err, &known) && !known.Retriable {
			return option.Fail("%s", text)
		}
		if !p.warned[text] {
			if p.warned == nil {
				p.warned = map[string]bool{}
			}
			p.warned[text] = true
			p.line.Clear()
			fmt.Fprintln(p.streams.Err, text)
		}
	}
	return nil
}

// trouble names what failed: a partition, or a whole topic, whose trouble kgo gives the partition -1.
func trouble(e kgo.FetchError) string {
	switch {
	case e.Topic == "":
		return e.Err.Error()
	case e.Partition >= 0:
		return fmt.Sprintf("%s-%d: %s", e.Topic, e.Partition, e.Err)
	case errors.Is(e.Err, kerr.InvalidTopicException):
		return "Invalid topics: [" + e.Topic + "]"
	}
	return e.Topic + ": " + e.Err.Error()
}
