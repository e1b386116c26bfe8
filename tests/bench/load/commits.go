package load

import (
	"fmt"
	"sync"
	"time"
)

// Commits is the load of consumers that commit: each connection for a group of its own, whose members it does not have.
type Commits struct {
	Connections int
	InFlight    int
}

// Run commits one partition's offset a request, for a while.
func (l Commits) Run(address, topic string, d time.Duration) (Done, error) {
	until := time.Now().Add(d)
	return together(l.Connections, func(i int) (Done, error) {
		// The offset does not matter to the broker, so the request is always the same.
		request := formatter.AppendRequest(nil, commitRequest(fmt.Sprint("commits-", i), topic, 1, 1), 1)
		return commitAll(address, l.InFlight, func() []byte {
			if time.Now().After(until) {
				return nil
			}
			return request
		})
	})
}

// FillOffsets commits the offsets of so many partitions of a topic for each of so many groups, rounds times over.
func FillOffsets(address, topic string, partitions, groups, rounds int) (Done, error) {
	const connections, inFlight = 4, 8
	return together(connections, func(i int) (Done, error) {
		next, round := i, 0
		var request []byte
		return commitAll(address, inFlight, func() []byte {
			if next >= groups {
				next, round = i, round+1
			}
			if round >= rounds || next >= groups {
				return nil
			}
			request = formatter.AppendRequest(request[:0], commitRequest(fmt.Sprint("group-", next), topic, partitions, int64(round)), 1)
			next += connections
			return request
		})
	})
}

// commitAll sends what next gives until it gives nil, and counts the requests that were answered.
func commitAll(address string, inFlight int, next func() []byte) (done Done, err error) {
	c, err := Dial(address)
	if err != nil {
		return done, err
	}
	defer c.Close()
	sent := make(chan time.Time, inFlight)
	var failure error
	var receiver sync.WaitGroup
	receiver.Go(func() {
		for at := range sent {
			if failure != nil {
				continue // lets the sender come to its end
			}
			if _, failure = c.committed(); failure != nil {
				_ = c.Close() // so that the sender hears of it
			}
			done.Latency = append(done.Latency, time.Since(at))
			done.Requests++
		}
	})
	for request := next(); request != nil && err == nil; request = next() {
		sent <- time.Now()
		_, err = c.Write(request)
	}
	close(sent)
	receiver.Wait()
	if failure != nil {
		err = failure
	}
	return done, err
}
