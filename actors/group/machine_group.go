package group

import (
	"troupe/actors/coordinator/timeline"
)

// group is a group of either protocol: *classic or *consumer. What both have is a core; all else is decided by the
// protocol.
type group interface {
	base() *core
	// kind is what ListGroups calls the type (KIP-848), protocol the protocol type of the members.
	kind() string
	protocol() string
	// status is the committed state's name.
	status() string
	// vacant tells that nobody is in, size how many are as it is committed.
	vacant() bool
	size() int
	// subscribes tells whether a member may be reading a topic: its offsets are not deleted under it (KIP-496).
	subscribes(topic string) bool
	// idle gives the time from which offsets.retention.minutes count for an offset, in ms; false while it is kept.
	idle(key partition, c *committed) (fromMs int64, ok bool)
}

// The kinds of groups.
const (
	classicKind  = "classic"
	consumerKind = "consumer"
)

// core is what a group of either protocol has. It goes with the group when it changes its protocol.
type core struct {
	id      string
	offsets *timeline.Map[partition, *committed]
}

func (c *core) base() *core { return c }

func (m *Machine) newCore(id string) *core {
	return &core{id: id, offsets: timeline.NewMap[partition, *committed](m.line)}
}

// classicGroup finds a group of the classic protocol.
func (m *Machine) classicGroup(id string) (*classic, bool) {
	g, _ := m.groups.Get(id)
	c, ok := g.(*classic)
	return c, ok
}

// coreOf gives the core of a group of whatever protocol, or that of a new one.
func (m *Machine) coreOf(id string) *core {
	if g, there := m.groups.Get(id); there {
		return g.base()
	}
	return m.newCore(id)
}

func (m *Machine) groupIDs() []string { return timeline.SortedKeys(m.groups) }
