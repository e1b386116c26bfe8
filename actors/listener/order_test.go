package listener

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/api"
)

func TestRepliesGoOutInTheOrderOfTheRequests(t *testing.T) {
	w := newWorld(t)
	client, c := w.connect()
	var taken []*pending
	for i := range int32(5) {
		p, _ := c.take(on(uint64(i)), i)
		taken = append(taken, p)
	}
	for _, i := range []int{3, 1, 4, 0, 2} {
		taken[i].Ready(text("x"))
	}
	for i := range int32(5) {
		if got, _ := readReply(t, client); got != i {
			t.Fatalf("reply %d came as number %d", got, i)
		}
	}
	w.nothingHeld()
}

func TestASecondAnswerIsDropped(t *testing.T) {
	w := newWorld(t)
	client, c := w.connect()
	p, _ := c.take(on(1), 1)
	p.Ready(text("first"))
	p.Ready(text("the second"))
	p.Hangup("a third")
	if _, n := readReply(t, client); n != len("first") {
		t.Errorf("a reply of %d bytes, want the first one", n)
	}
	q, _ := c.take(on(1), 2)
	q.Nothing()
	q.Nothing()
	w.nothingHeld()
}

// What a request must wait for is said by its ordering keys.
func TestRequestsWaitForThoseTheyShareAKeyWith(t *testing.T) {
	pipelined := on(1)
	pipelined.Order.Pipelined = true
	for title, cse := range map[string]struct {
		first, second *api.Handler
		waits         bool
	}{
		"other keys":                     {on(1, 2), on(3, 4), false},
		"a common key":                   {on(1, 2), on(2, 3), true},
		"a barrier waits for all":        {on(1), on(), true},
		"all wait for a barrier":         {on(), on(1), true},
		"the same API, pipelined":        {pipelined, pipelined, false},
		"another API beside a pipelined": {pipelined, on(1), true},
	} {
		t.Run(title, func(t *testing.T) {
			w := newWorld(t)
			_, c := w.connect()
			first, _ := c.take(cse.first, 1)
			through := make(chan *pending, 1)
			go func() {
				p, _ := c.take(cse.second, 2)
				through <- p
			}()
			if cse.waits {
				w.eventually("the second has its credits", func() bool { return w.deps.Credits.Used() == 2*requestSize })
				c.mu.Lock()
				waiting := len(c.queue) == 1
				c.mu.Unlock()
				if !waiting {
					t.Error("the second request did not wait")
				}
				first.Ready(text("x"))
				(<-through).Ready(text("y"))
			} else {
				(<-through).Ready(text("y"))
				first.Ready(text("x"))
			}
			w.nothingHeld()
		})
	}
}

func TestARequestThatWaitsItsTurnEndsWithTheConnection(t *testing.T) {
	w := newWorld(t)
	client, c := w.connect()
	first, _ := c.take(on(1), 1)
	let := make(chan bool, 1)
	go func() {
		_, ok := c.take(on(1), 2)
		let <- ok
	}()
	w.eventually("the second has its credits", func() bool { return w.deps.Credits.Used() == 2*requestSize })
	client.Close()
	if <-let {
		t.Error("the second request was admitted to a connection that is gone")
	}
	first.Ready(text("x"))
	w.nothingHeld()
}

func TestALongPollEndsByWakeByDeadlineOrWithTheClient(t *testing.T) {
	far := 24 * time.Hour
	t.Run("wake", func(t *testing.T) {
		w := newWorld(t)
		client, c := w.connect()
		d := &poll{deadline: w.clock.Now().Add(far)}
		p, _ := c.take(on(1), 1)
		p.ReadyLater(d)
		w.eventually("it is polled", func() bool { return d.polls.Load() > 0 })
		d.finish()
		readReply(t, client)
		w.ends(d, 1, 0)
	})
	t.Run("deadline", func(t *testing.T) {
		w := newWorld(t)
		client, c := w.connect()
		p, _ := c.take(on(1), 1)
		p.ReadyLater(&poll{deadline: w.clock.Now()})
		readReply(t, client)
		w.nothingHeld()
	})
	for title, first := range map[string]bool{"the client goes while it waits": true, "the client goes before its turn": false} {
		t.Run(title, func(t *testing.T) {
			w := newWorld(t)
			client, c := w.connect()
			var ahead *pending
			if !first {
				ahead, _ = c.take(on(2), 1)
			}
			d := &poll{deadline: w.clock.Now().Add(far)}
			p, _ := c.take(on(1), 2)
			p.ReadyLater(d)
			if first {
				w.eventually("it is polled", func() bool { return d.polls.Load() > 0 })
			}
			client.Close()
			w.eventually("it is abandoned", func() bool { return d.abandoned.Load() > 0 })
			if ahead != nil {
				ahead.Ready(text("x"))
			}
			w.ends(d, 0, 1)
		})
	}
}

// A frame whose bytes a disk lane may still read is not read into again.
func TestBytesThatAreKeptDoNotReturnToThePool(t *testing.T) {
	w := newWorld(t)
	_, c := w.connect()
	for _, keep := range []bool{false, true} {
		p, _ := c.take(on(1), 1)
		frame := newChunk(1)
		p.chunk = frame
		if keep {
			p.KeepBytes()
		}
		p.Nothing()
		w.nothingHeld()
		if kept := frame.refs.Load() > 0; kept != keep {
			t.Errorf("kept: %v, want %v", kept, keep)
		}
	}
}

func TestAResponseHeaderFollowsTheVersion(t *testing.T) {
	w := newWorld(t)
	client, _ := w.connect()
	for version := range int16(5) {
		req := kmsg.NewPtrApiVersionsRequest()
		req.Version = version
		req.ClientSoftwareName, req.ClientSoftwareVersion = "test", "1"
		if _, err := client.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, int32(version))); err != nil {
			t.Fatal(err)
		}
		if got, _ := readReply(t, client); got != int32(version) {
			t.Errorf("correlation id %d, want %d", got, version)
		}
	}
	w.nothingHeld()
}

// Two fetches of very many partitions, compared each with each, would hold their connection's reader for a minute.
func TestOrderingKeysAreComparedInOnePass(t *testing.T) {
	w := newWorld(t)
	_, c := w.connect()
	odd, even := make([]uint64, 150_000), make([]uint64, 150_000)
	for i := range odd {
		odd[i], even[len(even)-1-i] = uint64(2*i+1), uint64(2*i)
	}
	began := time.Now()
	first, _ := c.take(on(odd...), 1)
	second, _ := c.take(on(even...), 2)
	if took := time.Since(began); took > patience {
		t.Errorf("a request that waits for none was let in after %v", took)
	}
	first.Ready(text("x"))
	second.Ready(text("y"))
	w.nothingHeld()
}
