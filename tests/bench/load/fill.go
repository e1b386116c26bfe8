package load

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// Fill writes to all partitions of topics in turns, until the broker goes away.
type Fill struct {
	bytes   atomic.Int64
	enough  chan struct{}
	running sync.WaitGroup
	mu      sync.Mutex
	failure error
}

const (
	fillers       = 4
	fillInFlight  = 4
	fillTogether  = 8 // partitions of a request
	fillBatchSize = 64 << 10
)

// Layout names the partitions of a fill: topics 0 to Topics-1, each with as many partitions.
type Layout struct {
	Prefix             string
	Topics, Partitions int
}

// Names are the topics.
func (l Layout) Names() []string {
	names := make([]string, l.Topics)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%d", l.Prefix, i)
	}
	return names
}

func (l Layout) targets(batch []byte) []target {
	var all []target
	for _, topic := range l.Names() {
		for p := range l.Partitions {
			all = append(all, target{topic, int32(p), batch})
		}
	}
	return all
}

// StartFill begins to write; Enough is closed when so many bytes are acknowledged, and the writing goes on.
func StartFill(address string, l Layout, bytes int64) *Fill {
	f := &Fill{enough: make(chan struct{})}
	all := l.targets(batchOf(fillBatchSize/1024, 1024))
	share := (len(all) + fillers - 1) / fillers
	for i := range fillers {
		f.running.Go(func() {
			mine := all[min(i*share, len(all)):min((i+1)*share, len(all))]
			err := f.connection(address, mine, bytes)
			f.mu.Lock()
			defer f.mu.Unlock()
			f.failure = errors.Join(f.failure, err)
		})
	}
	return f
}

// Enough is closed when the bytes asked for are acknowledged.
func (f *Fill) Enough() <-chan struct{} { return f.enough }

// Ended is closed when no connection writes any more, which before the kill is a failure.
func (f *Fill) Ended() <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		f.running.Wait()
		close(ended)
	}()
	return ended
}

// Err tells why the writing ended.
func (f *Fill) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failure
}

func (f *Fill) connection(address string, mine []target, enough int64) error {
	c, err := Dial(address)
	if err != nil {
		return err
	}
	defer c.Close()
	inFlight := make(chan struct{}, fillInFlight)
	stop := make(chan error, 1)
	go func() { stop <- f.receive(c, inFlight, enough) }()
	for at := 0; ; at = (at + fillTogether) % len(mine) {
		select {
		case err := <-stop:
			return err
		case inFlight <- struct{}{}:
		}
		if err := c.Send(produceRequest(1, mine[at:min(at+fillTogether, len(mine))]...)); err != nil {
			return errors.Join(err, <-stop)
		}
	}
}

func (f *Fill) receive(c *Client, inFlight <-chan struct{}, enough int64) error {
	for {
		taken, _, refused, err := c.produced()
		if err = errors.Join(err, refused); err != nil {
			_ = c.Close() // the sender ends too
			return err
		}
		bytes := int64(taken) * fillBatchSize
		if total := f.bytes.Add(bytes); total >= enough && total-bytes < enough {
			close(f.enough)
		}
		<-inFlight
	}
}

// Bytes is how much was acknowledged.
func (f *Fill) Bytes() int64 { return f.bytes.Load() }
