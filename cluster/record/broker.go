package record

import (
	"troupe/codec/flexible"
	"troupe/internal/model"
)

// RegisterBroker announces an incarnation of a broker; its offset is the broker epoch (KIP-631). It replaces what was
// registered under the id before.
//
//	version  0                                            + 1        + 2         + 3        + 4
//	         id, incarnation, epoch, endpoints,            shutdown   migrating   log dirs   cordoned log dirs
//	         features, rack, fenced                                               (tag 0)    (tag 1)
type RegisterBroker struct {
	BrokerID model.BrokerID
	// IsMigratingZkBroker is known from version 2 on; this software refuses such registrations.
	IsMigratingZkBroker bool
	// IncarnationID is drawn by the process when it starts.
	IncarnationID model.UUID
	// BrokerEpoch is the offset of this very record.
	BrokerEpoch model.BrokerEpoch
	Endpoints   []Endpoint
	Features    []FeatureRange
	Rack        *string
	Fenced      bool
	// InControlledShutdown is known from version 1 on.
	InControlledShutdown bool
	// LogDirs is known from version 3 on: the ids of the broker's log directories (KIP-858).
	LogDirs []model.DirectoryID
	// CordonedLogDirs is known from version 4 on: directories that get no new replicas (KIP-1066). nil says nothing.
	CordonedLogDirs []model.DirectoryID
}

// Endpoint is a listener of a broker or controller.
type Endpoint struct {
	Name string
	Host string
	Port uint16
	// SecurityProtocol is 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL.
	SecurityProtocol int16
}

// FeatureRange is what a node can run of a feature, both ends included.
type FeatureRange struct {
	Name                string
	MinSupportedVersion int16
	MaxSupportedVersion int16
}

// UnregisterBroker removes a broker for good; its replicas stay assigned to it until somebody moves them.
type UnregisterBroker struct {
	BrokerID    model.BrokerID
	BrokerEpoch model.BrokerEpoch
}

// FenceBroker is the older form of a fencing; this software writes BrokerRegistrationChange.
type FenceBroker struct {
	ID    model.BrokerID
	Epoch model.BrokerEpoch
}

// UnfenceBroker is the older form of an unfencing.
type UnfenceBroker struct {
	ID    model.BrokerID
	Epoch model.BrokerEpoch
}

// BrokerRegistrationChange changes what a registration says; zero fields change nothing.
type BrokerRegistrationChange struct {
	BrokerID    model.BrokerID
	BrokerEpoch model.BrokerEpoch
	// Fenced is -1 to unfence, 0 to leave, 1 to fence.
	Fenced int8
	// InControlledShutdown is 0 to leave, 1 to enter; known from version 1 on. There is no way back but to register.
	InControlledShutdown int8
	// LogDirs is known from version 2 on; empty leaves what was registered.
	LogDirs []model.DirectoryID
	// CordonedLogDirs is known from version 3 on (KIP-1066); nil leaves, an empty list lifts every cordon.
	CordonedLogDirs []model.DirectoryID
}

// RegisterController announces an incarnation of a controller (KIP-919).
type RegisterController struct {
	ControllerID     model.BrokerID
	IncarnationID    model.UUID
	ZkMigrationReady bool
	Endpoints        []Endpoint
	Features         []FeatureRange
}

// Key is 0.
func (*RegisterBroker) Key() Key { return KeyRegisterBroker }

func (r *RegisterBroker) fields(c *flexible.Coder, version int16) {
	flexible.Int32(c, &r.BrokerID)
	if version >= 2 {
		c.Bool(&r.IsMigratingZkBroker)
	}
	c.UUID(&r.IncarnationID)
	flexible.Int64(c, &r.BrokerEpoch)
	endpoints(c, &r.Endpoints)
	featureRanges(c, &r.Features)
	c.NullableString(&r.Rack)
	c.Bool(&r.Fenced)
	if version >= 1 {
		c.Bool(&r.InControlledShutdown)
	}
	c.Tags(since(version, 3,
		flexible.Tag(0, len(r.LogDirs) > 0, func() { c.UUIDs(&r.LogDirs) }),
	), since(version, 4,
		flexible.Tag(1, r.CordonedLogDirs != nil, func() { c.NullableUUIDs(&r.CordonedLogDirs) }),
	))
}

// since gives f in the versions that have it, and otherwise a field that is neither written nor known.
func since(version, from int16, f flexible.Field) flexible.Field {
	if version >= from {
		return f
	}
	return flexible.Tag(^uint64(0), false, nil)
}

// Key is 1.
func (*UnregisterBroker) Key() Key { return KeyUnregisterBroker }

func (r *UnregisterBroker) fields(c *flexible.Coder, _ int16) {
	flexible.Int32(c, &r.BrokerID)
	flexible.Int64(c, &r.BrokerEpoch)
	c.Tags()
}

// Key is 7.
func (*FenceBroker) Key() Key { return KeyFenceBroker }

func (r *FenceBroker) fields(c *flexible.Coder, _ int16) {
	flexible.Int32(c, &r.ID)
	flexible.Int64(c, &r.Epoch)
	c.Tags()
}

// Key is 8.
func (*UnfenceBroker) Key() Key { return KeyUnfenceBroker }

func (r *UnfenceBroker) fields(c *flexible.Coder, _ int16) {
	flexible.Int32(c, &r.ID)
	flexible.Int64(c, &r.Epoch)
	c.Tags()
}

// Key is 17.
func (*BrokerRegistrationChange) Key() Key { return KeyBrokerRegistrationChange }

func (r *BrokerRegistrationChange) fields(c *flexible.Coder, version int16) {
	flexible.Int32(c, &r.BrokerID)
	flexible.Int64(c, &r.BrokerEpoch)
	c.Tags(
		flexible.Tag(0, r.Fenced != 0, func() { c.Int8(&r.Fenced) }),
		since(version, 1, flexible.Tag(1, r.InControlledShutdown != 0, func() { c.Int8(&r.InControlledShutdown) })),
		since(version, 2, flexible.Tag(2, len(r.LogDirs) > 0, func() { c.UUIDs(&r.LogDirs) })),
		since(version, 3, flexible.Tag(3, r.CordonedLogDirs != nil, func() { c.NullableUUIDs(&r.CordonedLogDirs) })),
	)
}

// Key is 27.
func (*RegisterController) Key() Key { return KeyRegisterController }

func (r *RegisterController) fields(c *flexible.Coder, _ int16) {
	flexible.Int32(c, &r.ControllerID)
	c.UUID(&r.IncarnationID)
	c.Bool(&r.ZkMigrationReady)
	endpoints(c, &r.Endpoints)
	featureRanges(c, &r.Features)
	c.Tags()
}

// endpoints: an element takes at least 7 bytes, two empty strings, two numbers and its tag count.
func endpoints(c *flexible.Coder, v *[]Endpoint) {
	flexible.Array(c, v, false, 7, func(e *Endpoint) {
		c.String(&e.Name)
		c.String(&e.Host)
		c.Uint16(&e.Port)
		c.Int16(&e.SecurityProtocol)
		c.Tags()
	})
}

// featureRanges: an element takes at least 6 bytes.
func featureRanges(c *flexible.Coder, v *[]FeatureRange) {
	flexible.Array(c, v, false, 6, func(f *FeatureRange) {
		c.String(&f.Name)
		c.Int16(&f.MinSupportedVersion)
		c.Int16(&f.MaxSupportedVersion)
		c.Tags()
	})
}
