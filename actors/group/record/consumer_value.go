package record

import (
	"troupe/codec/flexible"
	"troupe/internal/model"
)

// ConsumerGroup says that a group is there, and how often it has changed.
type ConsumerGroup struct {
	Epoch int32
	// MetadataHash stands for the topics that the group is subscribed to: each broker software has its own, and one that
	// differs only makes the group look again. 0 is none.
	MetadataHash int64
}

// ConsumerTopics are the topics of a group's subscriptions as Kafka 4.0 kept them; newer software has the hash instead and
// writes tombstones.
type ConsumerTopics struct{ Topics []ConsumerTopic }

// ConsumerTopic is a topic as it was when the group looked.
type ConsumerTopic struct {
	ID         model.TopicID
	Name       string
	Partitions int32
	Racks      []PartitionRacks
}

// PartitionRacks are the racks that a partition has replicas in.
type PartitionRacks struct {
	Partition int32
	Racks     []string
}

// ConsumerMember is what a member says of itself.
type ConsumerMember struct {
	Instance, Rack       *string
	ClientID, ClientHost string
	Topics               []string
	Expression           *string // of topics, in RE2 syntax; Kafka's members without one have ""
	RebalanceTimeoutMs   int32   // -1 is none
	Assignor             *string
	// Classic is set for a member that came by JoinGroup.
	Classic *ClassicMember
}

// ClassicMember is what the classic protocol needs of a member beside that.
type ClassicMember struct {
	SessionTimeoutMs int32
	Protocols        []ClassicProtocol
}

// ClassicProtocol is an assignor that a classic member offers, with its subscription for it.
type ClassicProtocol struct {
	Name     string
	Metadata []byte
}

// ConsumerTarget says which group epoch the targets of the members were made for.
type ConsumerTarget struct {
	Epoch       int32
	TimestampMs int64 // when they were made; 0 is not known
}

// ConsumerMemberTarget is what a member is to have in the end.
type ConsumerMemberTarget struct{ Topics []TopicPartitions }

// TopicPartitions are partitions of one topic.
type TopicPartitions struct {
	Topic      model.TopicID
	Partitions []int32
	// Epochs are the member epochs that the partitions were assigned at, one each, or nil: ConsumerCurrent alone has them,
	// since Kafka 4.3.
	Epochs []int32
}

// ConsumerCurrent is how far a member is on its way to its target.
type ConsumerCurrent struct {
	Epoch, PreviousEpoch int32
	// State is 0 stable, 1 unrevoked partitions, 2 unreleased partitions, 127 unknown.
	State int8
	// Assigned it may have now; Revoking it has been told to give up.
	Assigned, Revoking []TopicPartitions
}

// ConsumerExpression is what a regular expression came to.
type ConsumerExpression struct {
	Topics      []string
	Version     int64 // the offset of the metadata log that it was looked up at
	TimestampMs int64
}

// Kind is the type of the record's key.
func (*ConsumerGroup) Kind() Kind { return KindGroup }

func (v *ConsumerGroup) fields(c *flexible.Coder) {
	flexible.Int32(c, &v.Epoch)
	c.Tags(flexible.Tag(0, v.MetadataHash != 0, func() { flexible.Int64(c, &v.MetadataHash) }))
}

// Kind is the type of the record's key.
func (*ConsumerTopics) Kind() Kind { return KindTopics }

func (v *ConsumerTopics) fields(c *flexible.Coder) {
	flexible.Array(c, &v.Topics, false, 23, func(t *ConsumerTopic) {
		c.UUID(&t.ID)
		c.String(&t.Name)
		flexible.Int32(c, &t.Partitions)
		flexible.Array(c, &t.Racks, false, 6, func(r *PartitionRacks) {
			flexible.Int32(c, &r.Partition)
			flexible.Array(c, &r.Racks, false, 1, c.String)
			c.Tags()
		})
		c.Tags()
	})
	c.Tags()
}

// Kind is the type of the record's key.
func (*ConsumerMember) Kind() Kind { return KindMember }

func (v *ConsumerMember) fields(c *flexible.Coder) {
	c.NullableString(&v.Instance)
	c.NullableString(&v.Rack)
	c.String(&v.ClientID)
	c.String(&v.ClientHost)
	flexible.Array(c, &v.Topics, false, 1, c.String)
	c.NullableString(&v.Expression)
	flexible.Int32(c, &v.RebalanceTimeoutMs)
	c.NullableString(&v.Assignor)
	// The default of this tag is not null, so that Kafka writes it for every member: a byte of 0 is null, 1 a structure.
	c.Tags(flexible.Tag(0, true, func() {
		var there int8
		if v.Classic != nil {
			there = 1
		}
		if c.Int8(&there); there == 0 {
			return
		}
		if v.Classic == nil {
			v.Classic = &ClassicMember{}
		}
		v.Classic.fields(c)
	}))
}

func (m *ClassicMember) fields(c *flexible.Coder) {
	flexible.Int32(c, &m.SessionTimeoutMs)
	flexible.Array(c, &m.Protocols, false, 3, func(p *ClassicProtocol) {
		c.String(&p.Name)
		c.Bytes(&p.Metadata)
		c.Tags()
	})
	c.Tags()
}

// Kind is the type of the record's key.
func (*ConsumerTarget) Kind() Kind { return KindTarget }

func (v *ConsumerTarget) fields(c *flexible.Coder) {
	flexible.Int32(c, &v.Epoch)
	c.Tags(flexible.Tag(0, v.TimestampMs != 0, func() { flexible.Int64(c, &v.TimestampMs) }))
}

// Kind is the type of the record's key.
func (*ConsumerMemberTarget) Kind() Kind { return KindMemberTarget }

func (v *ConsumerMemberTarget) fields(c *flexible.Coder) {
	flexible.Array(c, &v.Topics, false, 18, func(t *TopicPartitions) {
		t.fields(c)
		c.Tags()
	})
	c.Tags()
}

// Kind is the type of the record's key.
func (*ConsumerCurrent) Kind() Kind { return KindCurrent }

func (v *ConsumerCurrent) fields(c *flexible.Coder) {
	flexible.Int32(c, &v.Epoch)
	flexible.Int32(c, &v.PreviousEpoch)
	c.Int8(&v.State)
	for _, topics := range []*[]TopicPartitions{&v.Assigned, &v.Revoking} {
		flexible.Array(c, topics, false, 18, func(t *TopicPartitions) {
			t.fields(c)
			c.Tags(flexible.Tag(0, t.Epochs != nil, func() { int32s(c, &t.Epochs, true) }))
		})
	}
	c.Tags()
}

func (t *TopicPartitions) fields(c *flexible.Coder) {
	c.UUID(&t.Topic)
	int32s(c, &t.Partitions, false)
}

func int32s(c *flexible.Coder, v *[]int32, nullable bool) {
	flexible.Array(c, v, nullable, 4, func(n *int32) { flexible.Int32(c, n) })
}

// Kind is the type of the record's key.
func (*ConsumerExpression) Kind() Kind { return KindExpression }

func (v *ConsumerExpression) fields(c *flexible.Coder) {
	flexible.Array(c, &v.Topics, false, 1, c.String)
	flexible.Int64(c, &v.Version)
	flexible.Int64(c, &v.TimestampMs)
	c.Tags()
}
