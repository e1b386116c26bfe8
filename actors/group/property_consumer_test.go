package group

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/coordinator"
	"troupe/cluster/image"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// possession is what a member has, whichever its protocol.
type possession struct {
	id    string
	owns  map[topicPartition]bool
	heard time.Time // when it sent the last request that was answered
}

// reporter is a member of the consumer protocol: it reports, drops what it is not given any more, and says so.
type reporter struct {
	possession
	instance *string
	lives    int
	topics   []string
	epoch    int32
	joined   bool
	full     bool // says everything with the next heartbeat
	waiting  bool
}

// gathering is a group of reporters over a log that keeps what it is given, with a model of what was promised:
//
//  1. no partition has two owners, but for those whom the coordinator may have given up (silent for a rebalance timeout);
//  2. a member's epoch, and the group's, never fall while they live;
//  3. a machine that loads the log has the state of the one that wrote it;
//  4. left alone, the members come to own every partition that one of them is subscribed to.
type gathering struct {
	*crowd
	members []*reporter
	elders  []*elder
	epoch   int32 // of the group, highest seen in answers
	shared  int   // how often a partition was got
}

// reporterRebalance bounds how long a silent member is counted on: it is shorter than the session here.
const reporterRebalance = 20 * time.Second

// reporterOptions let all members in.
var reporterOptions = func() ConsumerOptions {
	o := consumerOptions
	o.MembersMax = 100
	return o
}()

func TestAConsumerGroupKeepsItsPromisesWhateverItsMembersDo(t *testing.T) {
	got := 0
	for seed := range uint64(120) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { got += gathered(t, rand.New(rand.NewPCG(seed, 7)), 5, 0) })
		t.Run(fmt.Sprint("with classic members, seed ", seed), func(t *testing.T) { got += gathered(t, rand.New(rand.NewPCG(seed, 8)), 2, 3) })
	}
	if got < 3000 {
		t.Errorf("a partition was got %d times in all: nothing is tested", got)
	}
}

// gathered has so many members of each protocol act by chance, and gives how often a partition was got.
func gathered(t *testing.T, chance *rand.Rand, reporters, elders int) int {
	s := &stage{t: t, random: &counter{}, now: time.UnixMilli(1_000_000), metadata: newMetadata(t)}
	g := &gathering{crowd: &crowd{t: t, stage: s, tokens: map[coordinator.Token]func(kmsg.Response){}}}
	s.metadata.topic("t", 4)
	g.load()
	for i := range reporters {
		m := &reporter{topics: []string{"t"}, possession: possession{owns: map[topicPartition]bool{}}}
		if i < 2 {
			instance := fmt.Sprint("i", i)
			m.instance = &instance
		}
		g.members = append(g.members, m)
		g.born(m)
	}
	for i := range elders {
		g.elders = append(g.elders, &elder{possession: possession{id: fmt.Sprint("e", i), owns: map[topicPartition]bool{}}})
	}
	for range 400 {
		g.chance(chance)
	}
	g.settleDown()
	return g.shared
}

func (g *gathering) chance(chance *rand.Rand) {
	some := g.members[chance.IntN(len(g.members))]
	if len(g.elders) > 0 && chance.IntN(2) == 0 {
		g.chanceElder(g.elders[chance.IntN(len(g.elders))], chance.IntN(100) < 3)
	}
	switch n := chance.IntN(200); {
	case n < 110:
		g.beat(some)
	case n < 150:
		g.written()
	case n < 180:
		g.wait(time.Duration(chance.IntN(2500)) * time.Millisecond)
	case n < 184:
		g.leave(some, chance.IntN(2) == 0)
	case n < 185 && len(g.elders) > 0: // the group may become a classic one
		for _, m := range g.members {
			g.leave(m, true)
		}
	case n < 186:
		some.topics = [][]string{{"t"}, {"t", "u"}, {"u"}, {}}[chance.IntN(4)]
		some.full = true
	case n < 188:
		g.change(g.stage.metadata.topic("t", 4+chance.IntN(3)))
	case n < 190:
		g.change(g.stage.metadata.topic("u", 2))
	case n < 191:
		g.change(g.stage.metadata.remove("u"))
	case n < 192:
		g.wait(time.Duration(chance.IntN(60)) * time.Second)
	case n < 196:
		g.refused()
	case n < 198:
		g.restart()
	default:
		g.reload()
	}
}

func (g *gathering) change(d image.Delta) { g.take(g.stage.machine.Metadata(g.stage.at(), d)) }

// born gives a member an id that nobody had.
func (g *gathering) born(m *reporter) {
	m.lives++
	m.id = fmt.Sprintf("m%d.%d", slices.Index(g.members, m), m.lives)
	m.epoch, m.joined = 0, false
	clear(m.owns)
}

func (g *gathering) beat(m *reporter) {
	if m.waiting {
		return
	}
	r := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	r.Group, r.MemberID, r.InstanceID, r.MemberEpoch, r.RebalanceTimeoutMillis = "g", m.id, m.instance, m.epoch, -1
	if !m.joined || m.full {
		r.RebalanceTimeoutMillis, r.SubscribedTopicNames = int32(reporterRebalance.Milliseconds()), append([]string{}, m.topics...)
		r.Topics = m.says()
	}
	m.waiting = true
	sent, topics := g.stage.now, m.topics
	said := r.Topics != nil
	g.ask(r, 1, func(resp kmsg.Response) {
		m.waiting = false
		g.answered(m, resp.(*kmsg.ConsumerGroupHeartbeatResponse), said && slices.Equal(topics, m.topics), sent)
	})
}

func (m *reporter) says() []kmsg.ConsumerGroupHeartbeatRequestTopic {
	topics := []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	for _, p := range slices.SortedFunc(maps.Keys(m.owns), compareTopicPartitions) {
		one := kmsg.NewConsumerGroupHeartbeatRequestTopic()
		one.TopicID, one.Partitions = p.topic, []int32{p.number}
		topics = append(topics, one)
	}
	return topics
}

func (g *gathering) answered(m *reporter, r *kmsg.ConsumerGroupHeartbeatResponse, said bool, sent time.Time) {
	switch kerr.Code(r.ErrorCode) {
	case kerr.None:
	case kerr.UnknownMemberID, kerr.FencedMemberEpoch, kerr.GroupIDNotFound:
		clear(m.owns)
		m.epoch, m.joined = 0, false
		return
	case kerr.FencedInstanceID, kerr.UnreleasedInstanceID:
		g.born(m)
		return
	default:
		m.full = true
		return
	}
	if m.joined && r.MemberEpoch < m.epoch {
		g.t.Fatalf("%s is in epoch %d after %d", m.id, r.MemberEpoch, m.epoch)
	}
	m.epoch, m.joined, m.heard = r.MemberEpoch, true, sent
	g.epoch = max(g.epoch, m.epoch)
	if said {
		m.full = false
	}
	if r.Assignment == nil {
		return
	}
	next := map[topicPartition]bool{}
	for _, t := range r.Assignment.Topics {
		for _, n := range t.Partitions {
			next[topicPartition{t.TopicID, n}] = true
		}
	}
	if !maps.Equal(m.owns, next) {
		m.full = true // it tells what it has now
	}
	for p := range next {
		if !m.owns[p] {
			g.shared++
			g.expectAlone(&m.possession, p)
		}
	}
	m.owns = next
}

// expectAlone holds what a member gets against what the others have.
func (g *gathering) expectAlone(m *possession, p topicPartition) {
	for _, other := range g.all() {
		if other != m && other.owns[p] && g.stage.now.Sub(other.heard) < reporterRebalance {
			g.t.Fatalf("%s-%d belongs to %s and to %s", topicName(p.topic), p.number, other.id, m.id)
		}
	}
}

// leave ends a member's life; a static one may be back under another id.
func (g *gathering) leave(m *reporter, forGood bool) {
	if m.waiting || !m.joined {
		return
	}
	r := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	r.Group, r.MemberID, r.InstanceID, r.MemberEpoch, r.RebalanceTimeoutMillis = "g", m.id, m.instance, leaveEpoch, -1
	if m.instance != nil && !forGood {
		r.MemberEpoch = leaveStaticEpoch
	}
	m.waiting = true
	clear(m.owns)
	g.ask(r, 1, func(kmsg.Response) {
		m.waiting = false
		g.born(m)
	})
}

// reload compares a machine that loads the log with the one that wrote it.
func (g *gathering) reload() {
	g.written()
	before := g.describe()
	g.restart()
	if after := g.describe(); after != before {
		g.t.Fatalf("before the reload\n%s\nafter it\n%s", before, after)
	}
}

func (g *gathering) describe() string {
	r := kmsg.NewPtrConsumerGroupDescribeRequest()
	r.Groups = []string{"g"}
	var text []byte
	g.ask(r, 1, func(resp kmsg.Response) {
		var err error
		if text, err = json.Marshal(resp); err != nil {
			g.t.Fatal(err)
		}
	})
	return string(text)
}

// settleDown has all report as they should until nothing can be under way any more, and looks at who owns what.
func (g *gathering) settleDown() {
	for range 200 {
		g.written()
		for _, m := range g.members {
			g.beat(m)
		}
		for _, m := range g.elders {
			for range 3 { // to join, to sync, and to look
				g.actElder(m)
				g.written()
			}
		}
		g.written()
		g.wait(time.Second)
	}
	if len(g.tokens) > 0 {
		g.t.Fatalf("%d requests have no answer", len(g.tokens))
	}
	owners := map[topicPartition][]string{}
	for _, m := range g.all() {
		for p := range m.owns {
			owners[p] = append(owners[p], m.id)
		}
	}
	for _, name := range []string{"t", "u"} {
		topic, there := g.stage.metadata.current.Topic(name)
		read := len(g.elders) > 0 && name == "t" || slices.ContainsFunc(g.members, func(m *reporter) bool { return slices.Contains(m.topics, name) })
		if !there || !read {
			continue
		}
		for n := range topic.Partitions {
			p := topicPartition{topic.ID, int32(n)}
			if len(owners[p]) != 1 {
				g.t.Fatalf("%s-%d belongs to %v when all is settled: %s", name, n, owners[p], g.describe())
			}
			delete(owners, p)
		}
	}
	if len(owners) > 0 {
		g.t.Fatalf("%v belong to members that should not have them: %s", owners, g.describe())
	}
	if h := model.Offset(len(g.stage.log)); h != g.stage.upTo {
		g.t.Fatalf("records up to %d are not committed", h)
	}
}
