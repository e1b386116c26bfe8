package main

import (
	"errors"
	"fmt"

	"troupe/tests/bench/peer"
)

// each has every contestant go through the parts of a scenario.
func (b *bench) each(parts ...func(*bench, peer.Kind) error) error {
	for _, k := range b.contestants {
		for _, part := range parts {
			if err := part(b, k); err != nil {
				return fmt.Errorf("%s: %w", k.Name, err)
			}
		}
	}
	return nil
}

// fresh measures something on a broker that is started for it on an empty directory, and removed.
func (b *bench) fresh(k peer.Kind, do func(*peer.Broker) error, settings ...string) (err error) {
	broker, err := b.broker(k, settings...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, broker.Remove()) }()
	if err := broker.Start(); err != nil {
		return err
	}
	return do(broker)
}
