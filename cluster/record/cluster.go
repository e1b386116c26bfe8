package record

import (
	"troupe/codec/flexible"
	"troupe/internal/model"
)

// Config sets one key of a resource, or removes it when Value is nil.
type Config struct {
	// ResourceType is 2 topic, 4 broker, 16 client metrics, 32 group (KIP-133, KIP-714, KIP-848).
	ResourceType int8
	// ResourceName is empty for the default of all brokers.
	ResourceName string
	Name         string
	// Value is text whatever the key's type is: the log does not know the keys.
	Value *string
}

// FeatureLevel finalizes a feature at a level; 0 switches it off.
type FeatureLevel struct {
	Name  string
	Level int16
}

// ProducerIDs says that all ids below NextProducerID were handed out in blocks (KIP-730). A block that its broker did not
// use up is lost, which is how no id comes twice.
type ProducerIDs struct {
	BrokerID       model.BrokerID
	BrokerEpoch    model.BrokerEpoch
	NextProducerID model.ProducerID
}

// NoOp moves the log end, so that observers see a live leader (metadata.max.idle.interval.ms).
type NoOp struct{}

// ZkMigrationState is kept only so that logs of clusters that left ZooKeeper can be read (KIP-866).
type ZkMigrationState struct {
	State int8
}

// BeginTransaction opens a change of several records: none of them is seen before EndTransaction (KIP-868). There is no
// transaction within a transaction.
type BeginTransaction struct {
	Name *string
}

// EndTransaction makes the records since BeginTransaction visible at once.
type EndTransaction struct{}

// AbortTransaction drops the records since BeginTransaction. A new leader writes it when the one before died in between.
type AbortTransaction struct {
	Reason *string
}

// Key is 4.
func (*Config) Key() Key { return KeyConfig }

func (r *Config) fields(c *flexible.Coder, _ int16) {
	c.Int8(&r.ResourceType)
	c.String(&r.ResourceName)
	c.String(&r.Name)
	c.NullableString(&r.Value)
	c.Tags()
}

// Key is 12.
func (*FeatureLevel) Key() Key { return KeyFeatureLevel }

func (r *FeatureLevel) fields(c *flexible.Coder, _ int16) {
	c.String(&r.Name)
	c.Int16(&r.Level)
	c.Tags()
}

// Key is 15.
func (*ProducerIDs) Key() Key { return KeyProducerIDs }

func (r *ProducerIDs) fields(c *flexible.Coder, _ int16) {
	flexible.Int32(c, &r.BrokerID)
	flexible.Int64(c, &r.BrokerEpoch)
	flexible.Int64(c, &r.NextProducerID)
	c.Tags()
}

// Key is 20.
func (*NoOp) Key() Key { return KeyNoOp }

func (*NoOp) fields(c *flexible.Coder, _ int16) { c.Tags() }

// Key is 21.
func (*ZkMigrationState) Key() Key { return KeyZkMigrationState }

func (r *ZkMigrationState) fields(c *flexible.Coder, _ int16) {
	c.Int8(&r.State)
	c.Tags()
}

// Key is 23.
func (*BeginTransaction) Key() Key { return KeyBeginTransaction }

func (r *BeginTransaction) fields(c *flexible.Coder, _ int16) {
	c.Tags(flexible.Tag(0, r.Name != nil, func() { c.NullableString(&r.Name) }))
}

// Key is 24.
func (*EndTransaction) Key() Key { return KeyEndTransaction }

func (*EndTransaction) fields(c *flexible.Coder, _ int16) { c.Tags() }

// Key is 25.
func (*AbortTransaction) Key() Key { return KeyAbortTransaction }

func (r *AbortTransaction) fields(c *flexible.Coder, _ int16) {
	c.Tags(flexible.Tag(0, r.Reason != nil, func() { c.NullableString(&r.Reason) }))
}
