package load

import (
	"fmt"
	"time"
)

// soon is how often a broker is asked that is about to serve.
const soon = time.Millisecond

// FirstProduce makes a topic and produces a record to it as soon as the broker allows; it may not listen yet.
func FirstProduce(address, topic string) error {
	deadline := time.Now().Add(patience)
	for {
		err := CreateTopics(address, 1, topic)
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			return err
		}
		pause(soon)
	}
	_, _, err := awaitAll(address, []target{{topic, 0, batchOf(1, 100)}})
	return err
}

// AwaitAll produces one record to every partition, again where it is refused, and gives when the first and the last of
// them was acknowledged. The broker may not listen yet.
func AwaitAll(address string, l Layout) (first, last time.Time, err error) {
	return awaitAll(address, l.targets(batchOf(1, 100)))
}

func awaitAll(address string, left []target) (first, last time.Time, err error) {
	var c *Client
	for deadline := time.Now().Add(patience); len(left) > 0; {
		if time.Now().After(deadline) {
			return first, last, fmt.Errorf("%d partitions take no records after %v", len(left), patience)
		}
		var refused []target
		if c == nil {
			c, err = Dial(address)
		}
		if err == nil {
			refused, err = c.tryAll(left)
		}
		if err != nil {
			if c != nil {
				_ = c.Close() // the broker has done so
			}
			c, err = nil, nil
			pause(soon)
			continue
		}
		last = time.Now()
		if first.IsZero() && len(refused) < len(left) {
			first = last
		}
		if left = refused; len(left) > 0 {
			pause(soon)
		}
	}
	return first, last, c.Close()
}

// tryAll sends one request to all and gives the targets that were refused.
func (c *Client) tryAll(to []target) ([]target, error) {
	if err := c.Send(produceRequest(1, to...)); err != nil {
		return nil, err
	}
	return c.refusedOf(to)
}
