package group

import (
	"strconv"
	"time"

	"troupe/cluster/image"
)

// ConsumerOptions is what groups of the consumer protocol go by: the keys group.consumer.*. The config of a group comes
// before the standard, within the bounds.
type ConsumerOptions struct {
	Session, Heartbeat, Interval Bounded // session.timeout.ms, heartbeat.interval.ms, assignment.interval.ms
	PatternRefresh               time.Duration
	MembersMax                   int
	Assignors                    []string // the first one is the standard
	Upgrade, Downgrade           bool     // migration.policy
}

// Bounded is a setting with the bounds of what single groups may set.
type Bounded struct{ Standard, Least, Most time.Duration }

// of gives the setting of a group, by the key of its config. Values are judged when they are set; one that cannot be read
// all the same, of a log that other software wrote, is told of (Options.Misread) and the standard stands for it.
func (b Bounded) of(m *Machine, group, key string) time.Duration {
	from := image.ConfigResource{Type: image.GroupResource, Name: group}
	text, set := m.topics.image.Config(from).Get(key)
	if !set { // the standard may have been changed for the whole cluster
		from, key = image.ConfigResource{Type: image.BrokerResource}, "group."+key
		text, set = m.topics.image.Config(from).Get(key)
	}
	if !set {
		return b.Standard
	}
	ms, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		m.misread(from.Name, key, text)
		return b.Standard
	}
	return min(max(time.Duration(ms)*time.Millisecond, b.Least), b.Most)
}

// setting names a value of a group, or of the cluster with the group "".
type setting struct{ group, key string }

// misread tells of a value once, however often it is looked at: with each heartbeat.
func (m *Machine) misread(group, key, text string) {
	at := setting{group, key}
	if told, known := m.told[at]; known && told == text {
		return
	}
	m.told[at] = text
	m.options.Misread(group, key, text)
}

// heartbeatOf is told to members with each answer, so that a change reaches them within the interval of before.
func (m *Machine) heartbeatOf(g *consumer) time.Duration {
	return m.options.Consumer.Heartbeat.of(m, g.id, "consumer.heartbeat.interval.ms")
}

// intervalOf bounds what assigning costs where members come and go all the time; 0 assigns with each change.
func (m *Machine) intervalOf(g *consumer) time.Duration {
	return m.options.Consumer.Interval.of(m, g.id, "consumer.assignment.interval.ms")
}

// sessionOf is how long a member may be silent; one of the classic protocol asked for its own.
func (m *Machine) sessionOf(g *consumer, p *subscriber) time.Duration {
	if p.classic != nil {
		return p.classic.session
	}
	return m.options.Consumer.Session.of(m, g.id, "consumer.session.timeout.ms")
}
