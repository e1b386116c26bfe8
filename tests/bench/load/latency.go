package load

import (
	"sync"
	"time"
)

// Latency is an open loop: single records of a size at a steady rate, whatever the answers do, spread over
// connections with a partition each, and for each partition a consumer that waits for them.
type Latency struct {
	Connections int
	PerSecond   float64
	RecordBytes int
	Acks        int16
}

// linger is how long consumers still read after the last record was acknowledged.
const linger = 300 * time.Millisecond

// Run sends for a while and gives the times of acknowledgement and from end to end.
func (l Latency) Run(address, topic string, d time.Duration) (Done, error) {
	until := time.Now().Add(d)
	return together(l.Connections, func(i int) (Done, error) {
		return l.partition(address, topic, int32(i), until)
	})
}

func (l Latency) partition(address, topic string, partition int32, until time.Time) (Done, error) {
	producer, err := Dial(address)
	if err != nil {
		return Done{}, err
	}
	defer producer.Close()
	consumer, err := Dial(address)
	if err != nil {
		return Done{}, err
	}
	defer consumer.Close()
	// The first record tells where to begin to read.
	filler := letters(l.RecordBytes)
	if err := producer.Send(produceRequest(l.Acks, target{topic, partition, stamped(time.Now(), filler)})); err != nil {
		return Done{}, err
	}
	_, first, refused, err := producer.produced()
	if err != nil {
		return Done{}, err
	}
	if refused != nil {
		return Done{}, refused
	}
	stop := make(chan struct{})
	var read Done
	var readErr error
	var reader sync.WaitGroup
	reader.Go(func() { read, readErr = l.consume(consumer, topic, partition, first+1, stop) })
	done, err := l.send(producer, target{topic: topic, partition: partition}, filler, until)
	pause(linger)
	close(stop)
	reader.Wait()
	done.EndToEnd = read.EndToEnd
	if err == nil {
		err = readErr
	}
	return done, err
}

func (l Latency) send(c *Client, to target, filler string, until time.Time) (Done, error) {
	due := make(chan time.Time, 1<<16)
	var done Done
	var failure error
	var receiver sync.WaitGroup
	receiver.Go(func() {
		for t := range due {
			if failure != nil {
				continue
			}
			_, _, refused, err := c.produced()
			if failure = err; err == nil {
				failure = refused
			}
			done.Latency = append(done.Latency, time.Since(t))
			done.Requests++
		}
	})
	pace := newPacer()
	defer pace.stop()
	gap := time.Duration(float64(time.Second) * float64(l.Connections) / l.PerSecond)
	var err error
	for next := time.Now(); err == nil && next.Before(until); next = next.Add(gap) {
		pace.until(next)
		done.Late = append(done.Late, time.Since(next))
		to.batch = stamped(next, filler)
		due <- next
		err = c.Send(produceRequest(l.Acks, to))
	}
	close(due)
	receiver.Wait()
	if failure != nil {
		err = failure
	}
	return done, err
}

func (l Latency) consume(c *Client, topic string, partition int32, offset int64, stop chan struct{}) (Done, error) {
	var done Done
	for {
		select {
		case <-stop:
			return done, nil
		default:
		}
		if err := c.Send(fetchRequest(topic, partition, offset, 1<<20, 100*time.Millisecond)); err != nil {
			return done, err
		}
		records, _, err := c.fetched()
		if err != nil {
			return done, err
		}
		now := time.Now().UnixNano()
		next := walk(records, func(batch []byte) {
			done.EndToEnd = append(done.EndToEnd, time.Duration(now-stampIn(batch, l.RecordBytes)))
		})
		if next > 0 {
			offset = next
		}
	}
}
