package group

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/internal/model"
)

// Entry is a group in a list, as it is committed.
type Entry struct {
	ID          string
	State, Type string // as ListGroups names them
	Members     int
}

// Roster lists the groups whose ids contain a text, in no order.
func (m *Machine) Roster(match string) (all []Entry) {
	m.groups.EachCommitted(func(id string, g group) {
		if strings.Contains(id, match) {
			all = append(all, Entry{ID: id, State: g.status(), Type: g.kind(), Members: g.size()})
		}
	})
	return all
}

// Detail is one group, as it is committed.
type Detail struct {
	Entry
	Epoch    int32  // the generation of a classic group
	Assignor string // of a classic group the protocol that its members have chosen, "" while they have none
	Seats    []Seat
	Commits  []Commit // in no order
}

// Seat is a member with what it may read. What members of the classic protocol have is known of consumers alone.
type Seat struct {
	ID, Instance   string // "" without an instance
	ClientID, Host string
	Epoch          int32
	Partitions     []model.TopicPartition
}

// Detail gives a group; false when there is none of this id here.
func (m *Machine) Detail(id string) (d Detail, there bool) {
	g, there := m.groups.Committed(id)
	if !there {
		return d, false
	}
	d.Entry = Entry{ID: id, State: g.status(), Type: g.kind(), Members: g.size()}
	d.Commits = commitsOf(g)
	switch g := g.(type) {
	case *classic:
		g.detail(&d)
	case *consumer:
		m.detailConsumer(g, &d)
	}
	return d, true
}

func (g *classic) size() int { return len(g.members) }

func (g *classic) detail(d *Detail) {
	d.Epoch, d.Assignor = g.generation, g.chosen
	for _, p := range g.members {
		s := Seat{ID: p.id, ClientID: p.client.ID, Host: p.client.Host, Epoch: g.generation}
		if p.instance != nil {
			s.Instance = *p.instance
		}
		var a kmsg.ConsumerMemberAssignment
		if g.protocolType == consumerType && a.ReadFrom(p.assigned) == nil {
			for _, t := range a.Topics {
				for _, n := range t.Partitions {
					s.Partitions = append(s.Partitions, model.TopicPartition{Topic: t.Topic, Partition: n})
				}
			}
		}
		d.Seats = append(d.Seats, s)
	}
}

func (g *consumer) size() (n int) {
	g.members.EachCommitted(func(string, *subscriber) { n++ })
	return n
}

// detailConsumer takes what ConsumerGroupDescribe tells: the two views of a group agree.
func (m *Machine) detailConsumer(g *consumer, d *Detail) {
	out := kmsg.NewConsumerGroupDescribeResponseGroup()
	m.describeConsumer(g, &out)
	d.Epoch, d.Assignor = out.Epoch, out.AssignorName
	for _, p := range out.Members {
		s := Seat{ID: p.MemberID, ClientID: p.ClientID, Host: p.ClientHost, Epoch: p.MemberEpoch}
		if p.InstanceID != nil {
			s.Instance = *p.InstanceID
		}
		for _, t := range p.Assignment.TopicPartitions {
			for _, n := range t.Partitions {
				s.Partitions = append(s.Partitions, model.TopicPartition{Topic: t.Topic, Partition: n})
			}
		}
		d.Seats = append(d.Seats, s)
	}
}
