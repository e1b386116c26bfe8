//go:build interop

package interop

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/IBM/sarama"
	segmentio "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/tests/kafka"
)

// readings is what the members of a group have read: the readers of each line, in order.
type readings struct {
	mu     sync.Mutex
	by     map[string][]string
	counts map[string]int // lines of each reader
}

func newReadings() *readings { return &readings{by: map[string][]string{}, counts: map[string]int{}} }

func (r *readings) add(member, line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.by[line] = append(r.by[line], member)
	r.counts[member]++
}

func (r *readings) of(member string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts[member]
}

// lines tells how many different ones were read.
func (r *readings) lines() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.by)
}

// library starts members of a group with one client library. A member reads until it is asked to leave, which commits what
// it has read and waits until it is gone.
type library func(t *testing.T, address, group, topic, member string, r *readings) (leave func())

// franzMember commits each poll before a rebalance may take its partitions away.
func franzMember(options ...kgo.Opt) library {
	return func(t *testing.T, address, group, topic, member string, r *readings) func() {
		cl := client(t, address, append([]kgo.Opt{
			kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.ClientID(member), kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.HeartbeatInterval(500 * time.Millisecond), kgo.SessionTimeout(session),
		}, options...)...)
		ctx, stop := context.WithCancel(t.Context())
		done := background(func() {
			for ctx.Err() == nil {
				fetches := cl.PollRecords(ctx, 100)
				fetches.EachRecord(func(record *kgo.Record) { r.add(member, string(record.Value)) })
				// A group that goes back to the classic protocol has a new generation at once, as Kafka's has; what was not
				// committed for that is read again.
				if err := cl.CommitUncommittedOffsets(context.WithoutCancel(ctx)); err != nil && !errors.Is(err, kerr.IllegalGeneration) {
					t.Errorf("%s commits: %v", member, err)
				}
				cl.AllowRebalance()
			}
			cl.CloseAllowingRebalance()
		})
		return func() { stop(); <-done }
	}
}

func background(f func()) <-chan struct{} {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	return done
}

// saramaMember marks each record once it is read; sarama commits at the end of a session.
func saramaMember(strategy sarama.BalanceStrategy) library {
	return func(t *testing.T, address, group, topic, member string, r *readings) func() {
		config := sarama.NewConfig()
		config.ClientID, config.Version = member, sarama.MaxVersion
		config.Consumer.Offsets.Initial = sarama.OffsetOldest
		config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{strategy}
		config.Consumer.Group.Heartbeat.Interval, config.Consumer.Group.Session.Timeout = 500*time.Millisecond, session
		consumer, err := sarama.NewConsumerGroup([]string{address}, group, config)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := background(func() {
			for ctx.Err() == nil {
				if err := consumer.Consume(ctx, []string{topic}, saramaHandler{member, r}); err != nil && !errors.Is(err, sarama.ErrClosedConsumerGroup) {
					t.Errorf("%s consumes: %v", member, err)
				}
			}
			if err := consumer.Close(); err != nil {
				t.Errorf("%s leaves: %v", member, err)
			}
		})
		return func() { stop(); <-done }
	}
}

type saramaHandler struct {
	member string
	read   *readings
}

func (saramaHandler) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (saramaHandler) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (h saramaHandler) ConsumeClaim(s sarama.ConsumerGroupSession, c sarama.ConsumerGroupClaim) error {
	for {
		select {
		case m, open := <-c.Messages():
			if !open {
				return nil
			}
			h.read.add(h.member, string(m.Value))
			s.MarkMessage(m, "")
		case <-s.Context().Done():
			return nil
		}
	}
}

// segmentioMember commits each record. A commit that fails, as its generation is over, keeps nobody else from reading the record,
// but that of the next record may: kafka-go sends it in the next generation, whosever the partition is by then.
func segmentioMember(balancer segmentio.GroupBalancer) library {
	return func(t *testing.T, address, group, topic, member string, r *readings) func() {
		reader := segmentio.NewReader(segmentio.ReaderConfig{
			Brokers: []string{address}, GroupID: group, Topic: topic, StartOffset: segmentio.FirstOffset, MaxWait: 200 * time.Millisecond,
			GroupBalancers: []segmentio.GroupBalancer{balancer}, HeartbeatInterval: 500 * time.Millisecond, SessionTimeout: session,
			RebalanceTimeout: session, Dialer: &segmentio.Dialer{ClientID: member, DualStack: true},
		})
		ctx, stop := context.WithCancel(t.Context())
		done := background(func() {
			for {
				m, err := reader.FetchMessage(ctx)
				if err != nil {
					break
				}
				r.add(member, string(m.Value))
				_ = reader.CommitMessages(context.WithoutCancel(ctx), m)
			}
			if err := reader.Close(); err != nil {
				t.Errorf("%s leaves: %v", member, err)
			}
		})
		return func() { stop(); <-done }
	}
}

// kcatMember is librdkafka, which commits when partitions are taken away and at the end.
func kcatMember(settings ...string) library {
	return func(t *testing.T, address, group, topic, member string, r *readings) func() {
		args := []string{"-b", address, "-G", group, topic, "-q", "-u", "-X", "auto.offset.reset=earliest", "-X", "client.id=" + member,
			"-X", "heartbeat.interval.ms=500", "-X", fmt.Sprintf("session.timeout.ms=%d", session.Milliseconds()), "-X", "auto.commit.interval.ms=500"}
		for _, s := range settings {
			args = append(args, "-X", s)
		}
		cmd := exec.Command("kcat", args...)
		out := started(t, cmd)
		done := background(func() {
			for lines := bufio.NewScanner(out); lines.Scan(); {
				r.add(member, lines.Text())
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("%s: %v", member, err)
			}
		})
		return func() {
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
			<-done
		}
	}
}

// started gives the standard output of a command that is killed when the test ends before it. What it says on standard error
// is told when the test fails.
func started(t *testing.T, cmd *exec.Cmd) io.Reader {
	t.Helper()
	var said output
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		if t.Failed() {
			t.Logf("%v says on standard error:\n%s", cmd.Args, said.String())
		}
	})
	return out
}

// java runs all members of a group in one process (java/Members.java), which starts with the first.
type java struct{ process *javaProcess }

// javaMembers are members with the same settings.
func javaMembers(settings ...string) library { return new(java).members(settings...) }

// classicTimes are settings that clients of the consumer protocol refuse: the broker sets them.
var classicTimes = []string{"heartbeat.interval.ms=500", fmt.Sprintf("session.timeout.ms=%d", session.Milliseconds())}

func (j *java) members(settings ...string) library {
	if !slices.Contains(settings, "group.protocol=consumer") {
		settings = append(settings, classicTimes...)
	}
	return func(t *testing.T, address, group, topic, member string, r *readings) func() {
		if j.process == nil {
			j.process = startJava(t, r, address, group, topic)
		}
		return j.process.start(t, member, settings...)
	}
}

type javaProcess struct {
	commands io.Writer
	read     *readings
	mu       sync.Mutex
	gone     map[string]chan struct{}
}

func startJava(t *testing.T, r *readings, args ...string) *javaProcess {
	t.Helper()
	jars, err := kafka.Jars()
	if err != nil {
		t.Fatal(err)
	}
	compiled, path := t.TempDir(), filepath.Join(jars, "*")
	succeeds(t, "javac", "", "-d", compiled, "-cp", path, filepath.Join("java", "Members.java"))
	cmd := exec.Command("java", append([]string{"-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", compiled + ":" + path, "Members"}, args...)...)
	commands, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &javaProcess{commands: commands, read: r, gone: map[string]chan struct{}{}}
	out := started(t, cmd)
	done := background(func() { p.listen(t, out) })
	t.Cleanup(func() {
		commands.Close()
		<-done
		cmd.Wait()
	})
	return p
}

func (p *javaProcess) listen(t *testing.T, out io.Reader) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "!"):
			t.Error(line)
		case strings.HasPrefix(line, "-"):
			p.mu.Lock()
			close(p.gone[line[1:]])
			delete(p.gone, line[1:])
			p.mu.Unlock()
		default:
			member, value, _ := strings.Cut(line, " ")
			p.read.add(member, value)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for member, gone := range p.gone {
		t.Errorf("the process of %s has ended before it", member)
		close(gone)
	}
	p.gone = nil
}

func (p *javaProcess) start(t *testing.T, member string, settings ...string) func() {
	t.Helper()
	gone := make(chan struct{})
	p.mu.Lock()
	ended := p.gone == nil
	if !ended {
		p.gone[member] = gone
	}
	p.mu.Unlock()
	if ended {
		t.Fatal("the process of the Java members has ended")
	}
	p.command(t, "+"+strings.Join(append([]string{member}, settings...), " "))
	return func() {
		p.command(t, "-"+member)
		<-gone
	}
}

func (p *javaProcess) command(t *testing.T, line string) {
	if _, err := fmt.Fprintln(p.commands, line); err != nil {
		t.Error(err)
	}
}
