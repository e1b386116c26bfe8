package e2elatency

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	mathrand "math/rand/v2"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
	"troupe/cmd/troupe/client/progress"
	"troupe/internal/javatext"
)

const (
	// every so many records one time is shown.
	every = 1000
	// patience is how long one record is waited for.
	patience = time.Minute
)

// run measures record by record. An interrupt ends it with the figures of what there was.
func (p *plan) run(ctx context.Context, s option.Streams, json bool, line *progress.Line) error {
	out := s.Out
	if json {
		out = io.Discard
	}
	defer line.Clear()
	starts, err := p.prepare(ctx, out, s.Err)
	if err != nil {
		return err
	}
	consumer, err := connection.Open(p.bootstrap, p.props, "consumer-1", s.Err,
		// A fetch that waits at the broker is answered as soon as there is a record; the shortest wait would only add requests.
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{p.topic: starts}), kgo.FetchMinBytes(1), kgo.FetchMaxWait(500*time.Millisecond))
	if err != nil {
		return option.Fail("Failed to construct kafka consumer: %s", err)
	}
	defer consumer.Close()
	producer, err := p.producer(s.Err)
	if err != nil {
		return option.Fail("Failed to construct kafka producer: %s", err)
	}
	defer producer.Close()
	random := mathrand.New(mathrand.NewPCG(0, 0)) // the same records each time, as in the script
	times := make([]time.Duration, 0, p.records)
	// The first record finds neither connections nor metadata; the script counts it all the same.
	for i := range p.records {
		took, err := measure(ctx, producer.Client, consumer.Client, p.record(random))
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return err
		}
		times = append(times, took)
		if i%every == 0 {
			line.Clear()
			fmt.Fprintf(out, "%d\t%s\n", i, javatext.Double(milliseconds(took), 64))
		}
		line.Show("%d of %d records", i+1, p.records)
	}
	line.Clear()
	t := newSummary(times)
	if json {
		return option.WriteJSON(s, t)
	}
	if len(times) > 0 {
		t.print(out)
	}
	return nil
}

// producer makes one that sends each record at once: a batch that waited for more would be the time of the wait.
func (p *plan) producer(warn io.Writer) (*connection.Client, error) {
	props := kafkatext.Properties{}
	props.Merge(p.props)
	props.Merge(kafkatext.Properties{"acks": p.acks, "linger.ms": "0"})
	opts, err := connection.ProducerOptions(props)
	if err != nil {
		return nil, err
	}
	// One record is one batch, whatever its size.
	size := p.size + p.keySize + p.headers*(p.headerKeySize+max(p.headerSize, 0))
	opts = append(opts, kgo.ProducerBatchMaxBytes(int32(min(max(1<<20, size+size/8+4096), math.MaxInt32))))
	return connection.Open(p.bootstrap, props, "producer-1", warn, opts...)
}

// record makes a record whose parts repeat a random letter each.
func (p *plan) record(random *mathrand.Rand) *kgo.Record {
	letters := func(n int) []byte {
		return bytes.Repeat([]byte{'A' + byte(random.IntN(26))}, n)
	}
	r := &kgo.Record{Topic: p.topic, Value: letters(p.size), Key: letters(p.keySize)}
	for range p.headers {
		h := kgo.RecordHeader{Key: string(letters(p.headerKeySize))}
		if p.headerSize >= 0 {
			h.Value = letters(p.headerSize)
		}
		r.Headers = append(r.Headers, h)
	}
	return r
}

// measure sends a record, waits for its acknowledgement and then for itself, so that what the acknowledgement takes is in
// the time (acks=all is slower here too). Whatever else comes is an error: somebody
// else uses the topic, and the figures would be theirs.
func measure(ctx context.Context, producer, consumer *kgo.Client, sent *kgo.Record) (time.Duration, error) {
	began := time.Now()
	if err := producer.ProduceSync(ctx, sent).FirstErr(); err != nil {
		return 0, err
	}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	fetches := consumer.PollFetches(within)
	took := time.Since(began)
	records := fetches.Records() // taken apart after the clock was read
	switch {
	case len(records) == 0 && within.Err() != nil:
		return 0, option.Fail("poll() timed out before finding a result (timeout:[%d])", patience.Milliseconds())
	case len(records) == 0:
		return 0, fetches.Err()
	case !bytes.Equal(records[0].Value, sent.Value):
		return 0, option.Fail("The message value read [%s] did not match the message value sent [%s]", records[0].Value, sent.Value)
	case !bytes.Equal(records[0].Key, sent.Key):
		return 0, option.Fail("The message key read [%s] did not match the message key sent [%s]", records[0].Key, sent.Key)
	case len(records) > 1:
		return 0, option.Fail("Only one result was expected during this test. We found [%d]", len(records))
	}
	return took, nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 / 1000 }

// summary is the last two lines, and -o json.
type summary struct {
	Records int     `json:"records"`
	Average float64 `json:"avgLatencyMs"`
	P50     int64   `json:"p50Ms"`
	P99     int64   `json:"p99Ms"`
	P999    int64   `json:"p999Ms"`
}

// newSummary takes percentiles by rank, of whole milliseconds: below one, only the average tells anything.
func newSummary(times []time.Duration) summary {
	if len(times) == 0 {
		return summary{}
	}
	var total time.Duration
	for _, t := range times {
		total += t
	}
	sorted := slices.Sorted(slices.Values(times))
	at := func(q float64) int64 { return sorted[int(q*float64(len(sorted)))].Milliseconds() }
	return summary{len(times), milliseconds(total) / float64(len(times)), at(0.5), at(0.99), at(0.999)}
}

func (t summary) print(out io.Writer) {
	fmt.Fprintf(out, "Avg latency: %s ms\n", kafkatext.Fixed(t.Average, 4))
	fmt.Fprintf(out, "Percentiles: 50th = %d, 99th = %d, 99.9th = %d\n", t.P50, t.P99, t.P999)
}
