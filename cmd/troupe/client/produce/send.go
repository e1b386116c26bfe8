package produce

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
)

// sender sends the records of a reader. An interrupt ends the reading; what was read is still sent.
type sender struct {
	client   *connection.Client
	topic    string
	maxBlock time.Duration
	errs     io.Writer
	sent     atomic.Int64
	failed   atomic.Int64
	report   sync.Mutex
}

// input is a record, or why there is none.
type input struct {
	record *kgo.Record
	err    error
}

// read gives the records of lines, until the context ends.
func (s *sender) read(ctx context.Context, lines *lineReader) <-chan input {
	out := make(chan input)
	// A read of a terminal cannot be interrupted: the goroutine may stay in it until the process ends.
	go func() {
		defer close(out)
		for {
			record, err := lines.next()
			if errors.Is(err, io.EOF) {
				return
			}
			select {
			case out <- input{record, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return out
}

// each hands over records until the input or the context ends, or one cannot be read.
func (s *sender) each(ctx context.Context, lines *lineReader, send func(*kgo.Record) error) error {
	records := s.read(ctx, lines)
	for {
		select {
		case <-ctx.Done():
			return nil
		case in, ok := <-records:
			switch {
			case !ok:
				return nil
			case in.err != nil:
				return in.err
			}
			in.record.Topic = s.topic
			if err := send(in.record); err != nil {
				return err
			}
		}
	}
}

// one sends record by record; the first that fails ends it.
func (s *sender) one(ctx context.Context, lines *lineReader) error {
	return s.each(ctx, lines, func(r *kgo.Record) error {
		if err := s.client.ProduceSync(context.WithoutCancel(ctx), r).FirstErr(); err != nil {
			return option.Fail("java.util.concurrent.ExecutionException: %s", s.explain(err, true))
		}
		s.sent.Add(1)
		return nil
	})
}

// all sends without waiting. Each record that fails is reported, and makes the command fail in the end: the script
// ends with 0 here and hides the loss from its caller.
func (s *sender) all(ctx context.Context, lines *lineReader) error {
	err := s.each(ctx, lines, func(r *kgo.Record) error {
		s.client.Produce(context.WithoutCancel(ctx), r, s.done)
		return nil
	})
	if flushed := s.client.Flush(context.WithoutCancel(ctx)); err == nil {
		err = flushed
	}
	if err == nil && s.failed.Load() > 0 {
		return option.Silent()
	}
	return err
}

// done is called by the client's goroutines, one record at a time or several at once.
func (s *sender) done(r *kgo.Record, err error) {
	if err == nil {
		s.sent.Add(1)
		return
	}
	s.failed.Add(1)
	s.report.Lock()
	defer s.report.Unlock()
	fmt.Fprintf(s.errs, "Error when sending message to topic %s with key: %s, value: %s with error: %s\n",
		r.Topic, size(r.Key), size(r.Value), s.explain(err, false))
}

// size says how long a key or value is.
func size(b []byte) string {
	if b == nil {
		return "null"
	}
	return fmt.Sprintf("%d bytes", len(b))
}

// explain gives the Java client's words for an error of kgo's producer.
func (s *sender) explain(err error, qualified bool) string {
	var known *kerr.Error
	if !errors.As(err, &known) {
		return err.Error()
	}
	// kgo ends with the code where the Java client says that it waited for the topic in vain.
	if known == kerr.UnknownTopicOrPartition {
		text := fmt.Sprintf("Topic %s not present in metadata after %d ms.", s.topic, s.maxBlock.Milliseconds())
		if qualified {
			return "org.apache.kafka.common.errors.TimeoutException: " + text
		}
		return text
	}
	var message *string
	if known == kerr.InvalidTopicException {
		message = kmsg.StringPtr("Invalid topics: [" + s.topic + "]")
	}
	failure, ok := kafkatext.Answer(known.Code, message).(*kafkatext.Failure)
	if !ok {
		return err.Error()
	}
	if qualified {
		return failure.Qualified()
	}
	return failure.Text
}
