package perf

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/option"
)

const (
	// defaultBatch is the Java producer's batch.size, which decides much of the figures.
	defaultBatch = 16384
	// batchOverhead leaves room for a batch's header and a record's, so that one large record still fits.
	batchOverhead = 256
	// leastPause keeps the throttle from asking for sleeps too short to be had.
	leastPause = 2 * time.Millisecond
)

// run sends the records and prints the figures. An interrupt ends the sending; what was sent is waited for and counted.
func (p *plan) run(ctx context.Context, fs *pflag.FlagSet, s option.Streams) error {
	// The first record tells how long records are, which bounds the batch from below.
	first := p.payload(0)
	client, err := p.open(s, len(first))
	if err != nil {
		return option.Fail("Failed to construct kafka producer: %s", err)
	}
	defer client.Close()
	out := s.Out
	if option.JSON(fs) {
		out = io.Discard
	}
	if p.warmup > 0 {
		fmt.Fprintf(out, "Warmup first %d records. Steady state results will print after the complete test summary.\n", p.warmup)
	}
	l := &load{plan: p, client: client.Client, all: newStats(p.records, p.intervalMs, false, out), out: out, errs: s.Err}
	// What was sent is waited for even after an interrupt: records on their way would be missing in the figures.
	sendErr := l.send(ctx, first)
	if err := client.Flush(context.WithoutCancel(ctx)); err != nil && sendErr == nil {
		sendErr = err
	}
	if err := l.commit(context.WithoutCancel(ctx)); err != nil && sendErr == nil {
		sendErr = err
	}
	for _, stats := range []*stats{l.all, l.steady} {
		if stats == nil {
			continue
		}
		t := stats.summary(nowMs())
		fmt.Fprintln(out, t)
		if option.JSON(fs) {
			if err := option.WriteJSON(s, t); err != nil {
				return err
			}
		}
	}
	if sendErr == nil && l.failed > 0 {
		return option.Silent() // told as they came
	}
	return sendErr
}

// open makes the producer with the script's batch size. kgo's limit is on whole batches, Java's on when to send one: a
// record larger than batch.size still goes, alone.
func (p *plan) open(s option.Streams, recordSize int) (*connection.Client, error) {
	opts, err := connection.ProducerOptions(p.props)
	if err != nil {
		return nil, err
	}
	batch := defaultBatch
	if text := p.props["batch.size"]; text != "" {
		if batch, err = strconv.Atoi(text); err != nil || batch < 0 {
			return nil, fmt.Errorf("Invalid value %s for configuration batch.size: Not a number of type INT", text)
		}
	}
	opts = append(opts, kgo.ProducerBatchMaxBytes(int32(max(batch, recordSize+batchOverhead))))
	if id := p.props["transactional.id"]; id != "" {
		opts = append(opts, kgo.TransactionalID(id))
	}
	return connection.Open(p.bootstrap, p.props, "perf-producer-client", s.Err, opts...)
}

// load is a run under way. Its callbacks come from the client's goroutines: what they share with it is under mu, or in
// stats, which has its own lock.
type load struct {
	plan        *plan
	client      *kgo.Client
	out, errs   io.Writer
	all, steady *stats
	began       time.Time // of the open transaction; zero: none

	mu     sync.Mutex
	failed int64
	told   map[string]bool
}

func (l *load) send(ctx context.Context, first []byte) error {
	started := time.Now()
	value := first
	for i := int64(0); i < l.plan.records && ctx.Err() == nil; i++ {
		if i > 0 {
			value = l.plan.payload(i)
		}
		if l.plan.warmup > 0 && i == l.plan.warmup {
			// Records sent before this point do not count for the steady state, however late they are acknowledged.
			l.steady = newStats(l.plan.records-l.plan.warmup, l.plan.intervalMs, true, l.out)
			l.all.hush()
		}
		if err := l.begin(); err != nil {
			return err
		}
		l.produce(ctx, value)
		if l.due() {
			if err := l.commit(ctx); err != nil {
				return err
			}
		}
		l.throttle(ctx, started, i+1)
	}
	return nil
}

// produce sends one record and counts it when it is acknowledged.
func (l *load) produce(ctx context.Context, value []byte) {
	// The context is not the command's: a record that was handed over is sent whatever happens, or the count is wrong.
	sent, steady := nowMs(), l.steady
	l.client.Produce(context.WithoutCancel(ctx), &kgo.Record{Topic: l.plan.topic, Value: value}, func(r *kgo.Record, err error) {
		if err != nil {
			l.fail(err)
			return
		}
		at := nowMs()
		l.all.record(at-sent, int64(len(r.Value)), at)
		if steady != nil {
			steady.record(at-sent, int64(len(r.Value)), at)
		}
	})
}

// fail counts a lost record and tells each reason once.
func (l *load) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed++
	if l.told[err.Error()] {
		return
	}
	if l.told == nil {
		l.told = map[string]bool{}
	}
	l.told[err.Error()] = true
	fmt.Fprintf(l.errs, "Error when sending to topic %s: %s\n", l.plan.topic, err)
}

// throttle waits until so many records may have been sent.
func (l *load) throttle(ctx context.Context, started time.Time, sent int64) {
	ahead := time.Duration(float64(sent)/l.plan.throughput*float64(time.Second)) - time.Since(started)
	// A throughput of 0 sends one record and then nothing until it is interrupted, as the script does.
	if l.plan.throughput != 0 && ahead < leastPause {
		return
	}
	pause := make(<-chan time.Time)
	if l.plan.throughput != 0 {
		pause = time.After(ahead)
	}
	select {
	case <-pause:
	case <-ctx.Done():
	}
}

// begin opens a transaction when none is open; without --transaction-duration-ms none ever is.
func (l *load) begin() error {
	if l.plan.transactionMs == 0 || !l.began.IsZero() {
		return nil
	}
	l.began = time.Now()
	return l.client.BeginTransaction()
}

// due tells whether the open transaction has lasted long enough. It is asked between records, so it ends late, never early.
func (l *load) due() bool {
	return !l.began.IsZero() && time.Since(l.began).Milliseconds() >= l.plan.transactionMs
}

// commit ends the open transaction, if there is one.
func (l *load) commit(ctx context.Context) error {
	if l.began.IsZero() {
		return nil
	}
	l.began = time.Time{}
	// kgo does not wait for what is buffered when a transaction ends.
	if err := l.client.Flush(ctx); err != nil {
		return err
	}
	return l.client.EndTransaction(ctx, kgo.TryCommit)
}
