package main

import (
	"fmt"

	"troupe/tests/bench/load"
	"troupe/tests/bench/peer"
)

// connections measures the memory of a broker with many connections that have introduced themselves and then send
// nothing.
func connections(b *bench) error {
	return b.each(func(b *bench, k peer.Kind) error {
		return b.fresh(k, func(broker *peer.Broker) error {
			hangUp, err := load.Connections(broker.Address, b.idlers)
			if err != nil {
				return err
			}
			defer hangUp()
			return b.watchIdle(broker, fmt.Sprintf("%d idle connections", b.idlers), goal{atMost: 250}, goal{})
		})
	})
}
