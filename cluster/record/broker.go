package record

import "troupe/internal/model"

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

func (r *RegisterBroker) fields(c *coder, version int16) {
	codeInt32(c, &r.BrokerID)
	if version >= 2 {
		c.bool(&r.IsMigratingZkBroker)
	}
	c.uuid(&r.IncarnationID)
	codeInt64(c, &r.BrokerEpoch)
	c.endpoints(&r.Endpoints)
	c.featureRanges(&r.Features)
	c.nullableString(&r.Rack)
	c.bool(&r.Fenced)
	if version >= 1 {
		c.bool(&r.InControlledShutdown)
	}
	c.tags(since(version, 3,
		field{0, len(r.LogDirs) > 0, func() { c.uuids(&r.LogDirs) }},
	), since(version, 4,
		field{1, r.CordonedLogDirs != nil, func() { c.nullableUUIDs(&r.CordonedLogDirs) }},
	))
}

// since gives f in the versions that have it, and otherwise a field that is neither written nor known.
func since(version, from int16, f field) field {
	if version >= from {
		return f
	}
	return field{tag: ^uint64(0)}
}

// Key is 1.
func (*UnregisterBroker) Key() Key { return KeyUnregisterBroker }

func (r *UnregisterBroker) fields(c *coder, _ int16) {
	codeInt32(c, &r.BrokerID)
	codeInt64(c, &r.BrokerEpoch)
	c.tags()
}

// Key is 7.
func (*FenceBroker) Key() Key { return KeyFenceBroker }

func (r *FenceBroker) fields(c *coder, _ int16) {
	codeInt32(c, &r.ID)
	codeInt64(c, &r.Epoch)
	c.tags()
}

// Key is 8.
func (*UnfenceBroker) Key() Key { return KeyUnfenceBroker }

func (r *UnfenceBroker) fields(c *coder, _ int16) {
	codeInt32(c, &r.ID)
	codeInt64(c, &r.Epoch)
	c.tags()
}

// Key is 17.
func (*BrokerRegistrationChange) Key() Key { return KeyBrokerRegistrationChange }

func (r *BrokerRegistrationChange) fields(c *coder, version int16) {
	codeInt32(c, &r.BrokerID)
	codeInt64(c, &r.BrokerEpoch)
	c.tags(
		field{0, r.Fenced != 0, func() { c.int8(&r.Fenced) }},
		since(version, 1, field{1, r.InControlledShutdown != 0, func() { c.int8(&r.InControlledShutdown) }}),
		since(version, 2, field{2, len(r.LogDirs) > 0, func() { c.uuids(&r.LogDirs) }}),
		since(version, 3, field{3, r.CordonedLogDirs != nil, func() { c.nullableUUIDs(&r.CordonedLogDirs) }}),
	)
}

// Key is 27.
func (*RegisterController) Key() Key { return KeyRegisterController }

func (r *RegisterController) fields(c *coder, _ int16) {
	codeInt32(c, &r.ControllerID)
	c.uuid(&r.IncarnationID)
	c.bool(&r.ZkMigrationReady)
	c.endpoints(&r.Endpoints)
	c.featureRanges(&r.Features)
	c.tags()
}

// endpoints: an element takes at least 7 bytes, two empty strings, two numbers and its tag count.
func (c *coder) endpoints(v *[]Endpoint) {
	array(c, v, false, 7, func(e *Endpoint) {
		c.string(&e.Name)
		c.string(&e.Host)
		c.uint16(&e.Port)
		c.int16(&e.SecurityProtocol)
		c.tags()
	})
}

// featureRanges: an element takes at least 6 bytes.
func (c *coder) featureRanges(v *[]FeatureRange) {
	array(c, v, false, 6, func(f *FeatureRange) {
		c.string(&f.Name)
		c.int16(&f.MinSupportedVersion)
		c.int16(&f.MaxSupportedVersion)
		c.tags()
	})
}
