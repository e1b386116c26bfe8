package verifiableproducer

import (
	"context"
	"encoding/json"
	"io"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/option"
	"troupe/cmd/troupe/client/progress"
	"troupe/cmd/troupe/client/verifiable"
	"troupe/internal/javatext"
)

// acknowledged tells of one record that is in the log. Key is null without --repeating-keys; the offset is -1 with acks=0.
type acknowledged struct {
	verifiable.Head
	Key       *string `json:"key"`
	Value     string  `json:"value"`
	Offset    int64   `json:"offset"`
	Topic     string  `json:"topic"`
	Partition int32   `json:"partition"`
}

// failed tells of one that is not, or of which nobody knows.
type failed struct {
	verifiable.Head
	Topic     string  `json:"topic"`
	Key       *string `json:"key"`
	Value     string  `json:"value"`
	Exception string  `json:"exception"`
	Message   string  `json:"message"`
}

// summary is the last line.
type summary struct {
	verifiable.Head
	Sent    int64       `json:"sent"`
	Acked   int64       `json:"acked"`
	Target  int64       `json:"target_throughput"`
	Average json.Number `json:"avg_throughput"` // written as Java writes a double
}

// producer sends the records of a plan. Its callback runs on the client's goroutines: the count is atomic, the log has a
// lock.
type producer struct {
	*plan
	client *connection.Client
	events *verifiable.Log
	began  time.Time
	acked  atomic.Int64
}

// run sends the records and tells the figures, interrupted or not: what was handed over is waited for.
func (p *plan) run(ctx context.Context, warn io.Writer, events *verifiable.Log, line *progress.Line) error {
	client, blockFor, err := p.open(warn)
	if err != nil {
		return option.Fail("Failed to construct kafka producer: %s", err)
	}
	defer client.Close()
	w := &producer{plan: p, client: client, events: events, began: time.Now()}
	events.Tell(verifiable.Now("startup_complete"))
	if p.max != 0 { // nothing to send needs no topic
		w.awaitTopic(ctx, blockFor)
	}
	sent := w.send(ctx, line)
	if err := client.Flush(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	line.Clear()
	events.Tell(verifiable.Now("shutdown_complete"))
	// The average is over the whole run, with the wait for the topic, as in the script.
	acked := w.acked.Load()
	average := 1000 * float64(acked) / float64(max(time.Since(w.began).Milliseconds(), 1))
	events.Tell(summary{verifiable.Now("tool_data"), sent, acked, p.throughput, json.Number(javatext.Double(average, 64))})
	return events.Err()
}

// open makes a producer that sends nothing twice, and tells how long it may wait for the topic.
func (p *plan) open(warn io.Writer) (*connection.Client, time.Duration, error) {
	if p.props["retries"] == "0" && p.props["enable.idempotence"] == "" {
		p.props["enable.idempotence"] = "false" // what the Java client makes of no retries
	}
	if p.createTime >= 0 {
		p.props["delivery.timeout.ms"] = "0" // no limit: kgo reckons it from the time of the record
	}
	opts, err := connection.ProducerOptions(p.props)
	if err != nil {
		return nil, 0, err
	}
	blockFor, err := connection.Milliseconds(p.props, "max.block.ms", time.Minute)
	if err != nil {
		return nil, 0, err
	}
	client, err := connection.Open(p.bootstrap, p.props, "producer-1", warn, opts...)
	return client, blockFor, err
}

// send hands the records over and tells how many. It does not wait for one before the next, unless the client's buffer is
// full; the order of the acknowledgements is that of the brokers.
func (w *producer) send(ctx context.Context, line *progress.Line) int64 {
	var sent int64
	for ; (w.max < 0 || sent < w.max) && ctx.Err() == nil; sent++ {
		r := w.record(sent)
		// The context is not the command's: a record that was handed over is told of whatever happens.
		w.client.Produce(context.WithoutCancel(ctx), r, w.done)
		line.Show("%d sent, %d acknowledged", sent+1, w.acked.Load())
		w.throttle(ctx, sent+1)
	}
	return sent
}

// record makes the i-th record: a value that tells which one it was, and a key that says where related ones go.
func (w *producer) record(i int64) *kgo.Record {
	r := &kgo.Record{Topic: w.topic, Value: []byte(w.prefix + strconv.FormatInt(i, 10))}
	if w.keys >= 0 {
		r.Key = strconv.AppendInt(nil, i%max(w.keys, 1), 10)
	}
	if w.createTime >= 0 {
		r.Timestamp = time.UnixMilli(w.createTime).Add(time.Since(w.began))
		if i == 0 {
			r.Timestamp = time.UnixMilli(w.createTime)
		}
	}
	return r
}

// throttle waits until so many records may have been sent. At 0 a second no further one may be.
func (w *producer) throttle(ctx context.Context, sent int64) {
	if w.throughput < 0 {
		return
	}
	due := make(<-chan time.Time)
	if w.throughput > 0 {
		ahead := time.Duration(float64(sent)/float64(w.throughput)*float64(time.Second)) - time.Since(w.began)
		if ahead <= 0 {
			return
		}
		due = time.After(ahead)
	}
	select {
	case <-due:
	case <-ctx.Done():
	}
}

// done is called on the client's goroutines, once a record, in whatever order the brokers answer.
func (w *producer) done(r *kgo.Record, err error) {
	var key *string
	if r.Key != nil {
		text := string(r.Key)
		key = &text
	}
	if err != nil {
		class, message := w.explain(err)
		w.events.Tell(failed{verifiable.Now("producer_send_error"), w.topic, key, string(r.Value), "class " + class, message})
		return
	}
	w.acked.Add(1)
	if w.props["acks"] == "0" {
		r.Offset = -1 // nobody told
	}
	w.events.Tell(acknowledged{verifiable.Now("producer_send_success"), key, string(r.Value), r.Offset, r.Topic, r.Partition})
}
