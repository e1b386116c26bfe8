//go:build interop

package interop

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/tests/kafka"
	"troupe/tests/node"
)

// quickGroups have members report twice a second, so that a change is through in a second or two. Nobody is missed sooner than by
// default: members say that they leave, and one that a busy machine keeps silent has not left.
var quickGroups = []string{"group.consumer.heartbeat.interval.ms=500", "group.consumer.min.heartbeat.interval.ms=500"}

// session is how long classic members may be silent.
const session = 45 * time.Second

// readers count what the members of a group read.
type readers struct {
	mu   sync.Mutex
	read map[string]int // by value
}

func (c *readers) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.read)
}

// reader is a member of a group.
type reader struct {
	read  atomic.Int64
	leave func()
}

// member reads in a group until it is told to leave, and commits all that it has read before it lets a partition go.
func (c *readers) member(t *testing.T, address, group, topic string, options ...kgo.Opt) *reader {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	all := append([]kgo.Opt{
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.AutoCommitMarks(), kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsRevoked(func(ctx context.Context, cl *kgo.Client, _ map[string][]int32) {
			if err := cl.CommitMarkedOffsets(ctx); err != nil {
				t.Errorf("commit before partitions go: %v", err)
			}
		}),
	}, options...)
	cl := client(t, address, all...)
	r, done := &reader{}, make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			records := cl.PollFetches(ctx).Records()
			c.mu.Lock()
			for _, each := range records {
				c.read[string(each.Value)]++
			}
			c.mu.Unlock()
			r.read.Add(int64(len(records)))
			cl.MarkCommitRecords(records...)
			cl.AllowRebalance()
		}
	}()
	r.leave = func() {
		cancel()
		<-done
		cl.Close()
	}
	return r
}

// settled waits until each of the members has read some more: all have partitions.
func settled(t *testing.T, members ...*reader) {
	t.Helper()
	for _, r := range members {
		from := r.read.Load()
		node.Eventually(t, "every member reads", func() bool { return r.read.Load() >= from+20 })
	}
}

// awaitStable waits until every member of a group has its epoch. A group that goes back to the classic protocol has the epoch that
// it had last for its generation: from a member that did not know of that one yet its partitions are taken, and what it has read
// and not committed is read twice.
func awaitStable(t *testing.T, admin *kadm.Client, group string) {
	t.Helper()
	node.Eventually(t, "every member has the group's epoch", func() bool {
		groups, err := admin.ListGroups(t.Context())
		return err == nil && groups[group].State == "Stable"
	})
}

// Members of the consumer protocol, then of both, come and go while records are written: every record is read, and nearly
// none twice, since partitions are let go with their offsets.
func TestMembersOfTheConsumerProtocolComeAndGo(t *testing.T) {
	address := broker(t, append(quickGroups, "group.initial.rebalance.delay.ms=0")...)
	for _, mixed := range []bool{false, true} {
		t.Run(fmt.Sprintf("with classic members %v", mixed), func(t *testing.T) {
			topic := createTopic(t, address, "crowd", 6)
			group, admin := freshName("crowd"), kadm.NewClient(client(t, address))
			writer, stop := context.WithCancel(t.Context())
			written := make(chan int)
			producer := client(t, address, kgo.DefaultProduceTopic(topic))
			go func() {
				n := 0
				for ; writer.Err() == nil; n++ {
					if err := producer.ProduceSync(t.Context(), kgo.StringRecord(fmt.Sprint(n))).FirstErr(); err != nil {
						t.Error(err)
						break
					}
				}
				written <- n
			}()
			c := &readers{read: map[string]int{}}
			var members []*reader
			for i := range 4 {
				var options []kgo.Opt
				if !mixed || i%2 == 1 {
					options = append(options, kgo.ServerSideBalancer())
				}
				members = append(members, c.member(t, address, group, topic, options...))
				settled(t, members...)
			}
			for _, i := range []int{3, 1, 0} { // of both kinds, the last consumer goes before the classic members
				awaitStable(t, admin, group)
				members[i].leave()
				members = slices.Delete(members, i, i+1)
				settled(t, members...)
			}
			stop()
			n := <-written
			node.Eventually(t, "all records are read", func() bool { return c.count() == n })
			members[0].leave()
			expectCommittedSum(t, address, group, topic, n)
			twice := 0
			for _, times := range c.read {
				twice += times - 1
			}
			if twice > n/10 {
				t.Errorf("%d of %d records were read again", twice, n)
			}
		})
	}
}

// expectCommittedSum holds the sum of a group's offsets against what was written.
func expectCommittedSum(t *testing.T, address, group, topic string, want int) {
	t.Helper()
	offsets, err := kadm.NewClient(client(t, address)).FetchOffsets(t.Context(), group)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	offsets.Each(func(o kadm.OffsetResponse) { sum += int(o.At) })
	if sum != want {
		t.Errorf("offsets of %d records are committed, %d were written", sum, want)
	}
}

// Kafka's Java consumer joins by the consumer protocol, and another one goes on where it stopped.
func TestTheJavaConsumerReadsByTheConsumerProtocol(t *testing.T) {
	address := broker(t, quickGroups...)
	topic := createTopic(t, address, "java", 3)
	lines := fill(t, address, topic, 200)
	read := func(n int) string {
		r := kafka.Tool(t, "console-consumer", "", "--bootstrap-server", address, "--topic", topic, "--group", "java", "--from-beginning",
			"--command-property", "group.protocol=consumer", "--max-messages", fmt.Sprint(n), "--timeout-ms", "30000")
		if r.Code != 0 {
			t.Fatal(r)
		}
		return printed(t, r)
	}
	expectLines(t, "two Java consumers, one after the other", read(120)+read(80), lines)
	r := kafka.Tool(t, "consumer-groups", "", "--bootstrap-server", address, "--describe", "--group", "java", "--state")
	if !strings.Contains(r.Stdout, "Empty") {
		t.Errorf("the group is described as\n%s", r)
	}
}
