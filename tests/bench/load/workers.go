package load

import (
	"errors"
	"net"
	"sync"
)

// workers are clients that work side by side until they are stopped.
type workers struct {
	clients []*Client
	running sync.WaitGroup
	mu      sync.Mutex
	failure error
}

// dial adds a client. When it cannot be had, the others are stopped.
func (w *workers) dial(address string) (*Client, error) {
	client, err := Dial(address)
	if err != nil {
		return nil, errors.Join(err, w.Stop())
	}
	w.clients = append(w.clients, client)
	return client, nil
}

// run has one of them work; what ends it is kept for Stop, unless it was Stop.
func (w *workers) run(work func() error) {
	w.running.Go(func() {
		if err := work(); !errors.Is(err, net.ErrClosed) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.failure = errors.Join(w.failure, err)
		}
	})
}

// Stop ends all of them and tells what went wrong with any.
func (w *workers) Stop() error {
	for _, client := range w.clients {
		_ = client.Close() // ends its goroutines
	}
	w.running.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failure
}
