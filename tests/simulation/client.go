package simulation

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/frame"
	"troupe/codec/private"
)

// clientMachines is how many machines clients run on; each has its own links to the brokers.
const clientMachines = 3

// client is a client of Kafka's protocol: a connection a broker, and what it knows of the cluster.
type client struct {
	world   *World
	machine int
	links   map[int]*link
	topics  map[string][]int   // leaders by partition, -1 for none known
	epochs  map[string][]int32 // of those leaders
	ids     map[string][16]byte
	asking  bool
	asked   time.Time
}

// link is a connection to a broker, or the attempt to get one.
type link struct {
	client      *client
	broker      int
	end         *end
	open        bool
	correlation int32
	waiting     []*exchange // sent, in order
	unsent      []*exchange
}

// exchange is a request and what is done with its reply.
type exchange struct {
	link        *link
	request     kmsg.Request
	correlation int32
	done        func(kmsg.Response, error)
}

func newClient(w *World, machine int) *client {
	return &client{world: w, machine: machine, links: map[int]*link{}, topics: map[string][]int{}, epochs: map[string][]int32{}, ids: map[string][16]byte{}}
}

// requestTimeout is how long a client waits for a reply before it gives the connection up.
const requestTimeout = 10 * time.Second

// call sends a request to a broker; done is called once, later.
func (c *client) call(broker int, req kmsg.Request, done func(kmsg.Response, error)) {
	l := c.links[broker]
	if l == nil {
		l = &link{client: c, broker: broker}
		l.end = &end{in: func(f func()) { f() }, received: l.received, ended: l.ended}
		c.links[broker] = l
		c.world.net.dial(c.machine, broker, brokerPort, l.end, l.opened)
	}
	x := &exchange{link: l, request: req, done: done}
	if l.open {
		l.send(x)
	} else {
		l.unsent = append(l.unsent, x)
	}
	c.world.after(requestTimeout, func() {
		if slices.Contains(l.waiting, x) {
			l.end.close()
		}
	})
}

func (l *link) opened() {
	l.open = true
	for _, x := range l.unsent {
		l.send(x)
	}
	l.unsent = nil
}

func (l *link) send(x *exchange) {
	l.correlation++
	x.correlation = l.correlation
	l.waiting = append(l.waiting, x)
	b := frame.AppendRequestHeader(nil, frame.RequestHeader{
		Key: x.request.Key(), Version: x.request.GetVersion(), CorrelationID: x.correlation, ClientID: []byte("simulated"),
	})
	l.end.write(x.request.AppendTo(b))
}

// errReply says that a reply cannot be read: a broken broker, not a broken link.
var errReply = errors.New("malformed reply")

// received takes the reply to the oldest request: replies come in order.
func (l *link) received(b []byte) {
	w := l.client.world
	if len(l.waiting) == 0 || len(b) < 4 {
		w.fail("node %d answers what nobody asked", l.broker)
		return
	}
	x := l.waiting[0]
	l.waiting = l.waiting[1:]
	if got := int32(binary.BigEndian.Uint32(b)); got != x.correlation {
		w.fail("node %d answers request %d with the correlation id of %d", l.broker, x.correlation, got)
		return
	}
	resp := x.request.ResponseKind()
	resp.SetVersion(x.request.GetVersion())
	b = b[4:]
	if resp.IsFlexible() && x.request.Key() != 18 {
		b = b[1:]
	}
	if err := resp.ReadFrom(b); err != nil {
		w.fail("node %d: %s: %w: %w", l.broker, kmsg.NameForKey(x.request.Key()), errReply, err)
		return
	}
	x.done(resp, nil)
}

func (l *link) ended(err error) {
	delete(l.client.links, l.broker)
	open := append(l.waiting, l.unsent...)
	l.waiting, l.unsent = nil, nil
	for _, x := range open {
		x.done(nil, err)
	}
}

// requestFor makes an empty request of a key, Kafka's or Troupe's own.
func requestFor(key int16) kmsg.Request {
	if key >= frame.FirstPrivate {
		return private.NewRequest(key)
	}
	return kmsg.RequestForKey(key)
}

// anyBroker draws whom to ask what anybody knows.
func (c *client) anyBroker() int { return 1 + c.world.random.IntN(len(c.world.hosts)) }

// refreshPause parts two questions of one client about the cluster.
const refreshPause = 100 * time.Millisecond

// refresh asks for the leaders of all topics, one question at a time, then calls then.
func (c *client) refresh(then func()) {
	if c.asking {
		c.world.after(refreshPause, then)
		return
	}
	c.asking = true
	c.world.after(max(0, c.asked.Add(refreshPause).Sub(c.world.clock.Now())), func() {
		req := kmsg.NewPtrMetadataRequest()
		req.Version, req.AllowAutoTopicCreation = 12, false
		c.asked = c.world.clock.Now()
		c.call(c.anyBroker(), req, func(resp kmsg.Response, err error) {
			c.asking = false
			if err == nil {
				c.learn(resp.(*kmsg.MetadataResponse))
			}
			then()
		})
	})
}

// learn takes over what a node knows. It may be cut off and tell of an earlier leader: as in Kafka's clients, one of a lower epoch
// than was heard of does not count (KIP-320).
func (c *client) learn(resp *kmsg.MetadataResponse) {
	for _, t := range resp.Topics {
		if t.Topic == nil || t.ErrorCode != 0 {
			continue
		}
		leaders, epochs := make([]int, len(t.Partitions)), make([]int32, len(t.Partitions))
		for i := range leaders {
			leaders[i] = -1
			if c.ids[*t.Topic] == t.TopicID && i < len(c.topics[*t.Topic]) {
				leaders[i], epochs[i] = c.topics[*t.Topic][i], c.epochs[*t.Topic][i]
			}
		}
		for _, p := range t.Partitions {
			if int(p.Partition) < len(leaders) && p.LeaderEpoch >= epochs[p.Partition] && p.ErrorCode == 0 {
				leaders[p.Partition], epochs[p.Partition] = int(p.Leader), p.LeaderEpoch
			}
		}
		c.topics[*t.Topic], c.epochs[*t.Topic], c.ids[*t.Topic] = leaders, epochs, t.TopicID
	}
}

// leader is who leads a partition as far as this client knows; false for nobody.
func (c *client) leader(topic string, partition int) (int, bool) {
	leaders := c.topics[topic]
	if partition >= len(leaders) || leaders[partition] < 1 {
		return 0, false
	}
	return leaders[partition], true
}
