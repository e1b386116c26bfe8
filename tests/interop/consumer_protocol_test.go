//go:build interop

package interop

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/tests/kafka"
	"troupe/tests/node"
)

// quickGroups have members report twice a second, so that a change is through in a second or two.
var quickGroups = []string{
	"group.consumer.heartbeat.interval.ms=500", "group.consumer.min.heartbeat.interval.ms=500",
	"group.consumer.session.timeout.ms=6000", "group.consumer.min.session.timeout.ms=6000",
}

// crowd counts what the members of a group read.
type crowd struct {
	mu   sync.Mutex
	read map[string]int
}

func (c *crowd) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.read)
}

// member reads in a group until it is told to leave, and commits all that it has read before it lets a partition go.
func (c *crowd) member(t *testing.T, address, group, topic string, options ...kgo.Opt) (leave func()) {
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
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			records := cl.PollFetches(ctx).Records()
			c.mu.Lock()
			for _, r := range records {
				c.read[string(r.Value)]++
			}
			c.mu.Unlock()
			cl.MarkCommitRecords(records...)
			cl.AllowRebalance()
		}
	}()
	return func() {
		cancel()
		<-done
		cl.Close()
	}
}

// next waits until so many more records are read.
func (c *crowd) next(t *testing.T, n int) {
	t.Helper()
	from := c.count()
	node.Eventually(t, fmt.Sprintf("%d more records are read", n), func() bool { return c.count() >= from+n })
}

// Members of the consumer protocol, then of both, come and go while records are written: every record is read, and nearly
// none twice, since partitions are let go with their offsets.
func TestMembersOfTheConsumerProtocolComeAndGo(t *testing.T) {
	address := broker(t, append(quickGroups, "group.initial.rebalance.delay.ms=0")...)
	for _, mixed := range []bool{false, true} {
		t.Run(fmt.Sprintf("with classic members %v", mixed), func(t *testing.T) {
			topic := createTopic(t, address, "crowd", 6)
			group := freshName("crowd")
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
			c := &crowd{read: map[string]int{}}
			var leave []func()
			for i := range 4 {
				var options []kgo.Opt
				if !mixed || i%2 == 1 {
					options = append(options, kgo.ServerSideBalancer())
				}
				leave = append(leave, c.member(t, address, group, topic, options...))
				c.next(t, 300)
			}
			for _, i := range []int{1, 3, 0} { // of both kinds, the last consumer goes before the classic members
				leave[i]()
				c.next(t, 300)
			}
			stop()
			n := <-written
			node.Eventually(t, "all records are read", func() bool { return c.count() == n })
			leave[2]()
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
		return r.Stdout
	}
	expectLines(t, "two Java consumers, one after the other", read(120)+read(80), lines)
	r := kafka.Tool(t, "consumer-groups", "", "--bootstrap-server", address, "--describe", "--group", "java", "--state")
	if !strings.Contains(r.Stdout, "Empty") {
		t.Errorf("the group is described as\n%s", r)
	}
}

