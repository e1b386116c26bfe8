package configs

import "errors"

// Layers are the values below a topic's overrides, by key: those that Load found, and those that the metadata log
// holds for all brokers and for this one.
type Layers struct {
	Static  map[string]string
	Default map[string]string
	Broker  map[string]string
}

// Topic resolves a topic's configuration under its overrides.
func (l Layers) Topic(overrides map[string]string) (Topic, error) {
	return Topic{}, errors.New("topic configuration is not resolved yet")
}

// Resolve parses the configuration of the broker as the layers give it.
func (l Layers) Resolve() (Broker, error) {
	return Broker{}, errors.New("broker configuration is not resolved yet")
}
