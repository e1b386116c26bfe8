package load

import (
	"sync"
	"time"
)

// Produce is the load of producers that keep some requests in flight on each of a few connections, each with one batch
// for the connection's own partition.
type Produce struct {
	Connections, InFlight int
	BatchBytes            int // of values
	RecordBytes           int
	Acks                  int16
}

// Done is what a load has done.
type Done struct {
	Bytes, Requests int64
	Took            time.Duration
	// Latency is of each request, from its sending to its reply.
	Latency Times
	// EndToEnd is of each record, from when it was due to be sent until a consumer had it; of the latency load alone.
	EndToEnd Times
	// Late is how much later than due records were sent, which is the client's part of both; of the latency load alone.
	Late Times
}

// MBps is the rate in millions of bytes a second.
func (d Done) MBps() float64 { return float64(d.Bytes) / 1e6 / d.Took.Seconds() }

// Rate is requests a second.
func (d Done) Rate() float64 { return float64(d.Requests) / d.Took.Seconds() }

// GB is the bytes in units of 10^9.
func (d Done) GB() float64 { return float64(d.Bytes) / 1e9 }

func (d *Done) add(o Done) {
	d.Bytes += o.Bytes
	d.Requests += o.Requests
	d.Latency = append(d.Latency, o.Latency...)
	d.EndToEnd = append(d.EndToEnd, o.EndToEnd...)
	d.Late = append(d.Late, o.Late...)
}

// together runs n connections' shares of a load and adds up what they did; the first error counts.
func together(n int, share func(i int) (Done, error)) (Done, error) {
	var mu sync.Mutex
	var all Done
	var failure error
	var running sync.WaitGroup
	began := time.Now()
	for i := range n {
		running.Go(func() {
			d, err := share(i)
			mu.Lock()
			defer mu.Unlock()
			all.add(d)
			if failure == nil {
				failure = err
			}
		})
	}
	running.Wait()
	all.Took = time.Since(began)
	return all, failure
}

// Run produces to a topic for a while.
func (p Produce) Run(address, topic string, partitions int, d time.Duration) (Done, error) {
	batch := batchOf(max(1, p.BatchBytes/p.RecordBytes), p.RecordBytes)
	until := time.Now().Add(d)
	return together(p.Connections, func(i int) (Done, error) {
		return p.connection(address, target{topic, int32(i % partitions), batch}, until)
	})
}

func (p Produce) connection(address string, to target, until time.Time) (Done, error) {
	c, err := Dial(address)
	if err != nil {
		return Done{}, err
	}
	defer c.Close()
	request := formatter.AppendRequest(nil, produceRequest(p.Acks, to), 1)
	inFlight := make(chan time.Time, p.InFlight)
	var done Done
	var failure error
	var receiver sync.WaitGroup
	receiver.Go(func() {
		for sent := range inFlight {
			if failure != nil {
				continue // lets the sender come to its end
			}
			_, _, refused, err := c.produced()
			if failure = err; err == nil {
				failure = refused
			}
			done.Latency = append(done.Latency, time.Since(sent))
			done.Bytes += int64(len(to.batch))
			done.Requests++
		}
	})
	for err == nil && time.Now().Before(until) {
		inFlight <- time.Now()
		_, err = c.Write(request)
	}
	close(inFlight)
	receiver.Wait()
	if failure != nil {
		err = failure
	}
	return done, err
}
