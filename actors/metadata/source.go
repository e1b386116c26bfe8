// Package metadata publishes the images of the cluster's metadata that this broker has applied, and turns what changed
// into orders for its replicas.
package metadata

import (
	"maps"
	"strconv"
	"sync/atomic"

	"troupe/cluster/image"
	"troupe/configs"
	"troupe/internal/model"
)

// Source gives the latest image to any goroutine.
type Source struct {
	self   model.BrokerID
	static configs.Layers
	latest atomic.Pointer[published]
}

// published is an image with what is derived from it once.
type published struct {
	image  *image.Image
	layers configs.Layers
	broker *configs.Broker
}

// NewSource starts with an empty image over the static configuration, which broker is parsed from.
func NewSource(clusterID string, static configs.Layers, broker *configs.Broker) *Source {
	s := &Source{self: broker.NodeID, static: static}
	s.latest.Store(&published{image: image.Empty(clusterID), layers: static, broker: broker})
	return s
}

// Image is the latest image that this broker has applied.
func (s *Source) Image() *image.Image { return s.latest.Load().image }

// Layers is the broker configuration below the topics' own, with the dynamic one of the latest image.
func (s *Source) Layers() configs.Layers { return s.latest.Load().layers }

// Broker is the configuration of this broker with the dynamic one of the latest image, for what may change while it
// runs.
func (s *Source) Broker() *configs.Broker { return s.latest.Load().broker }

// publish derives the broker's configuration only when a dynamic key changed: parsing all keys for each new topic would
// cost more than the topic.
func (s *Source) publish(i *image.Image) {
	before := s.latest.Load()
	next := &published{image: i, layers: s.LayersOf(i), broker: before.broker}
	if !maps.Equal(before.layers.Default, next.layers.Default) || !maps.Equal(before.layers.Broker, next.layers.Broker) {
		// What is stored was checked when it was altered; what newer software stored changes nothing here.
		if b, err := next.layers.Resolve(); err == nil {
			next.broker = &b
		}
	}
	s.latest.Store(next)
}

// LayersOf is the broker configuration below the topics' own under an image.
func (s *Source) LayersOf(i *image.Image) configs.Layers {
	l := s.static
	l.Default = maps.Collect(i.Config(image.ConfigResource{Type: image.BrokerResource}).All())
	l.Broker = maps.Collect(i.Config(image.ConfigResource{Type: image.BrokerResource, Name: strconv.Itoa(int(s.self))}).All())
	return l
}

// TopicConfig resolves a topic's configuration under an image's overrides.
func TopicConfig(l configs.Layers, i *image.Image, topic string) (configs.Topic, error) {
	return l.Topic(maps.Collect(i.Config(image.ConfigResource{Type: image.TopicResource, Name: topic}).All()))
}
