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
	renewal   *renewal
}

// topicShape is a topic of the load.
type topicShape struct {
	name       string
	partitions int
}

// topics stay for the whole time; renewed comes and goes.
var (
	topics  = []topicShape{{"orders", 2}, {"events", 1}}
	renewed = topicShape{"drafts", 1}
)

// pairTopic has two replicas in some seeds.
const pairTopic = "events"

// newLoad makes the clients. They begin when the topics are there.
func newLoad(w *World) *load {
	l := &load{world: w, admin: newClient(w, firstClient), ledgers: map[string]*ledger{}, batchMax: 8}
	l.renewal = &renewal{client: newClient(w, firstClient), load: l, shape: renewed}
	partitions := renewed.partitions
	for _, t := range topics {
		partitions += t.partitions
	}
	// The records are spread over the time, with a third of it to spare for what faults take.
	batches := max(1, w.Size.Records/((1+l.batchMax)/2*partitions))
	l.paces = 2 * w.Size.Time / time.Duration(3*batches)
	return l
}

// pause is how long a producer waits before its next batch.
func (l *load) pause() time.Duration { return l.world.between(0, 2*l.paces) }

func (l *load) acknowledged(n int) { l.records += n }

// enough tells that nothing more has to be produced: a fault that nobody is at work in shows little.
func (l *load) enough() bool { return l.world.over && l.records >= l.world.Size.Records }

func (l *load) start() {
	for _, t := range topics {
		l.createBy(l.admin, t, func() {
			l.begin(t)
			l.serve(t)
		})
	}
	l.renewal.create()
}

// createBy has a client make a topic, however often it takes.
func (l *load) createBy(by *client, t topicShape, then func()) {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis = 7, 5000
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = t.name, int32(t.partitions), -1
	if l.world.pair && t.name == pairTopic && l.world.Size.Nodes > 1 {
		topic.ReplicationFactor = 2
	}
	req.Topics = append(req.Topics, topic)
	again := func() {
		l.world.after(l.world.between(50*time.Millisecond, 300*time.Millisecond), func() { l.createBy(by, t, then) })
	}
	by.call(by.anyBroker(), req, func(resp kmsg.Response, err error) {
		if err != nil {
			again()
			return
		}
		switch code := kerr.Code(resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode); code {
		case kerr.None, kerr.TopicAlreadyExists:
			l.world.note("topic", "%s is there", t.name)
			then()
		default:
			by.expect(code)
			again()
		}
	})
}

// begin starts a producer and a reader for each partition of a topic.
func (l *load) begin(t topicShape) {
	l.created++
	for i := range t.partitions {
		book := newLedger(l.world, fmt.Sprintf("%s-%d", t.name, i))
		l.ledgers[book.name] = book
		l.producers = append(l.producers, l.produce(t, i, book))
		l.consumers = append(l.consumers, l.consume(t, i, book))
	}
}

// produce starts a producer.
func (l *load) produce(t topicShape, partition int, book *ledger) *producer {
	w := l.world
	p := &producer{
		client: newClient(w, firstClient+w.random.IntN(clientMachines)), name: "p" + book.name, topic: t.name, partition: partition,
		ledger: book, window: 1 + w.random.IntN(5),
	}
	p.start()
	return p
}

// consume starts a reader.
func (l *load) consume(t topicShape, partition int, book *ledger) *consumer {
	w := l.world
	c := &consumer{
		client: newClient(w, firstClient+w.random.IntN(clientMachines)), name: "c" + book.name, topic: t.name, partition: partition, ledger: book,
	}
	c.start()
	return c
}

// serve starts the groups of a topic.
func (l *load) serve(t topicShape) {
	w := l.world
	g := &committer{client: newClient(w, firstClient+w.random.IntN(clientMachines)), group: "group-" + t.name, topic: t.name, committed: -1, seen: -1}
	witness := g.witness()
	l.groups = append(l.groups, g, witness)
	g.start()
	witness.start()
	newConsumerGroup(w, t.name, 1+w.random.IntN(3))
}

// reader finds the one of a partition.
func (l *load) reader(partition string) *consumer {
	for _, c := range l.consumers {
		if c.ledger.name == partition {
			return c
		}
	}
	return nil
}

// settled tells that all that was sent is acknowledged and read.
func (l *load) settled() bool {
	if l.created <= len(topics) || !l.enough() || !l.renewal.made {
		return false
	}
	for _, p := range l.producers {
		if len(p.queue) > 0 {
			return false
		}
	}
	for i, c := range l.consumers {
		if !c.caughtUp || c.watermark < c.ledger.end && !c.ledger.forgiven || len(l.producers[i].queue) > 0 {
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
