package simulation

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
)

// load is the clients of a world and what they have done.
type load struct {
	world     *World
	admin     *client
	producers []*producer
	consumers []*consumer
	groups    []*committer
	ledgers   map[string]*ledger
	records   int // acknowledged
	batchMax  int
	paces     time.Duration
	created   int
}

// topicShape is a topic of the load.
type topicShape struct {
	name       string
	partitions int
}

var topics = []topicShape{{"orders", 2}, {"events", 1}}

// newLoad makes the clients. They begin when the topics are there.
func newLoad(w *World) *load {
	l := &load{world: w, admin: newClient(w, firstClient), ledgers: map[string]*ledger{}, batchMax: 8}
	partitions := 0
	for _, t := range topics {
		partitions += t.partitions
	}
	// The records are spread over the time, with half of it to spare for what faults take.
	batches := max(1, w.Size.Records/((1+l.batchMax)/2*partitions))
	l.paces = w.Size.Time / time.Duration(2*batches)
	return l
}

// pause is how long a producer waits between two batches.
func (l *load) pause() time.Duration { return l.world.between(0, 2*l.paces) }

func (l *load) acknowledged(n int) { l.records += n }

// enough tells that nothing more has to be produced.
func (l *load) enough() bool { return l.records >= l.world.Size.Records }

func (l *load) start() {
	for _, t := range topics {
		l.create(t)
	}
}

// create makes a topic, however often it takes.
func (l *load) create(t topicShape) {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis = 7, 5000
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = t.name, int32(t.partitions), -1
	req.Topics = append(req.Topics, topic)
	again := func() {
		l.world.after(l.world.between(50*time.Millisecond, 300*time.Millisecond), func() { l.create(t) })
	}
	l.admin.call(l.admin.anyBroker(), req, func(resp kmsg.Response, err error) {
		if err != nil {
			again()
			return
		}
		switch code := kerr.Code(resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode); code {
		case kerr.None, kerr.TopicAlreadyExists:
			l.world.note("topic", "%s is there", t.name)
			l.begin(t)
		default:
			l.admin.expect(code)
			again()
		}
	})
}

// begin starts the clients of a topic: a producer and a reader for each partition, and a group.
func (l *load) begin(t topicShape) {
	l.created++
	w := l.world
	for i := range t.partitions {
		name := fmt.Sprintf("%s-%d", t.name, i)
		book := newLedger(w, name)
		l.ledgers[name] = book
		p := &producer{
			client: newClient(w, firstClient+w.random.IntN(clientMachines)), name: "p" + name, topic: t.name, partition: i,
			ledger: book, window: 1 + w.random.IntN(5),
		}
		c := &consumer{
			client: newClient(w, firstClient+w.random.IntN(clientMachines)), name: "c" + name, topic: t.name, partition: i, ledger: book,
		}
		l.producers, l.consumers = append(l.producers, p), append(l.consumers, c)
		p.start()
		c.start()
	}
	g := &committer{client: newClient(w, firstClient+w.random.IntN(clientMachines)), group: "group-" + t.name, topic: t.name, committed: -1}
	l.groups = append(l.groups, g)
	g.start()
	newConsumerGroup(w, t.name, 1+w.random.IntN(3))
}

// settled tells that all that was sent is acknowledged and read.
func (l *load) settled() bool {
	if l.created < len(topics) || !l.enough() {
		return false
	}
	for _, p := range l.producers {
		if len(p.queue) > 0 {
			return false
		}
	}
	for i, c := range l.consumers {
		if !c.caughtUp || len(l.producers[i].queue) > 0 {
			return false
		}
	}
	for _, g := range l.groups {
		if !g.settled {
			return false
		}
	}
	return true
}
