package main

import (
	"errors"
	"fmt"

	"troupe/tests/bench/load"
	"troupe/tests/bench/peer"
)

// connections measures the memory of a broker with many connections that have introduced themselves and then send
// nothing.
func connections(b *bench) error {
	for _, k := range b.contestants {
		if err := b.connectionsOf(k); err != nil {
			return fmt.Errorf("%s: %w", k.Name, err)
		}
	}
	return nil
}

func (b *bench) connectionsOf(k peer.Kind) (err error) {
	broker, err := b.broker(k)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, broker.Remove()) }()
	if err := broker.Start(); err != nil {
		return err
	}
	hangUp, err := load.Connections(broker.Address, b.idlers)
	if err != nil {
		return err
	}
	defer hangUp()
	return b.watchIdle(broker, fmt.Sprintf("%d idle connections", b.idlers), goal{atMost: 250}, goal{})
}
