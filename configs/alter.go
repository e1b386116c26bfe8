package configs

import "errors"

// Op is an operation of IncrementalAlterConfigs (KIP-339); the numbers are the protocol's.
type Op int8

// The operations. Append and Subtract work on lists.
const (
	Set      Op = 0
	Delete   Op = 1
	Append   Op = 2
	Subtract Op = 3
)

// Change is one operation on one key. Only Delete goes without a value.
type Change struct {
	Key   string
	Op    Op
	Value *string
}

// AlterTopic applies changes to a topic's overrides and gives the new ones; nothing is changed on an error, which
// carries its code (40 or 42, as Kafka 4.3.1 answers).
func (l Layers) AlterTopic(overrides map[string]string, changes []Change) (map[string]string, error) {
	return nil, errors.New("topic configuration is not altered yet")
}

// CheckTopic checks the overrides of a topic that is created, or whose configuration is replaced.
func (l Layers) CheckTopic(overrides map[string]*string) error {
	return errors.New("topic configuration is not checked yet")
}

// AlterBroker applies changes to the dynamic configuration of this broker.
func (l Layers) AlterBroker(changes []Change) (map[string]string, error) {
	return nil, errors.New("broker configuration is not altered yet")
}

// AlterDefaults applies changes to the dynamic configuration of all brokers.
func (l Layers) AlterDefaults(changes []Change) (map[string]string, error) {
	return nil, errors.New("broker configuration is not altered yet")
}
