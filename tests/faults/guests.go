//go:build interop && unix

package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/tests/kafka"
	"troupe/tests/node"
)

// guest is a producer of some library with the library's own settings, which writes numbered lines to a topic of its own.
type guest struct {
	library string
	// idempotent tells that the library's default is so: nothing is there twice, and order is kept.
	idempotent bool
	// begin starts it. What it gives ends it when all is acknowledged, and tells how many lines it sent and what it complains of.
	begin func(s *stage, topic string) (end func() (sent int, complaints string))
}

// guestRest is the time between two lines of a guest.
const guestRest = 10 * time.Millisecond

var guests = []guest{
	{"java", true, (*stage).beginJava},
	{"kcat", false, (*stage).beginKcat},
	{"franz-go", true, (*stage).beginFranz},
}

// invite has all guests begin.
func invite(s *stage) {
	s.Helper()
	for _, g := range guests {
		topic := "of-" + g.library
		if _, err := s.admin().CreateTopic(s.Context(), asidePartitions, 3, nil, topic); err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
			s.Fatalf("create %s: %v", topic, err)
		}
		s.cluster.AwaitWhole(topic)
		s.visits = append(s.visits, visit{g, topic, g.begin(s, topic)})
	}
	for _, v := range s.visits {
		node.Eventually(s, v.library+" writes", func() bool { return len(s.lines(v.topic)) > 0 })
	}
}

// visit is a guest that writes.
type visit struct {
	guest
	topic string
	end   func() (int, string)
}

// dismiss ends the guests, and holds that none was told an error and that all they wrote is there.
func dismiss(s *stage) {
	s.Helper()
	for _, v := range s.visits {
		sent, complaints := v.end()
		if complaints != "" {
			s.Errorf("%s complains:\n%.2000s", v.library, complaints)
		}
		s.checkLines(v, sent)
	}
}

func (s *stage) checkLines(v visit, sent int) {
	s.Helper()
	seen, repeated, disordered := map[int]bool{}, 0, 0
	for _, lines := range s.lines(v.topic) {
		last := -1
		for _, n := range lines {
			if seen[n] {
				repeated++
			} else if n < last {
				disordered++
			}
			seen[n], last = true, max(last, n)
		}
	}
	lost := 0
	for n := range sent {
		if !seen[n] {
			lost++
		}
	}
	s.Logf("%s: %d lines sent, %d lost, %d repeated, %d out of order", v.library, sent, lost, repeated, disordered)
	if sent < 10 || lost > 0 || v.idempotent && repeated+disordered > 0 {
		s.Errorf("%s: of %d lines %d are lost, %d are there twice, %d are out of order", v.library, sent, lost, repeated, disordered)
	}
}

// lines reads the numbers in each partition of a topic.
func (s *stage) lines(topic string) map[int32][]int {
	s.Helper()
	within, cancel := context.WithTimeout(s.Context(), node.Patience)
	defer cancel()
	ends, err := s.admin().ListEndOffsets(within, topic)
	if err != nil || ends.Error() != nil {
		s.Fatal(err, ends.Error())
	}
	left := map[int32]int64{}
	for _, end := range ends[topic] {
		if end.Offset > 0 {
			left[end.Partition] = end.Offset
		}
	}
	reader := s.client(kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	found := map[int32][]int{}
	for len(left) > 0 {
		fetches := reader.PollFetches(within)
		if err := fetches.Err(); err != nil {
			s.Fatalf("read %s: %v", topic, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			n := 0
			if _, err := fmt.Sscan(string(r.Value), &n); err != nil {
				s.Errorf("%s-%d, offset %d: %q", topic, r.Partition, r.Offset, r.Value)
			}
			found[r.Partition] = append(found[r.Partition], n)
			if r.Offset+1 >= left[r.Partition] {
				delete(left, r.Partition)
			}
		})
	}
	return found
}

// beginJava compiles and runs tests/interop/java/Writer.java.
func (s *stage) beginJava(topic string) func() (int, string) {
	s.Helper()
	jars, err := kafka.Jars()
	if err != nil {
		s.Fatal(err)
	}
	compiled, path := s.TempDir(), filepath.Join(jars, "*")
	source := filepath.Join("..", "interop", "java", "Writer.java")
	if out, err := exec.Command("javac", "-d", compiled, "-cp", path, source).CombinedOutput(); err != nil {
		s.Fatalf("javac: %v\n%s", err, out)
	}
	java := s.pipe("java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", compiled+":"+path, "Writer",
		s.cluster.Bootstrap(), topic, fmt.Sprint(guestRest.Milliseconds()))
	return func() (sent int, complaints string) {
		out, failure := java.end()
		for line := range strings.Lines(out) {
			if strings.HasPrefix(line, "failed") {
				complaints += line
			}
			_, _ = fmt.Sscanf(line, "sent %d", &sent) // other lines tell what was acknowledged
		}
		return sent, complaints + failure
	}
}

// beginKcat writes lines to kcat's standard input.
func (s *stage) beginKcat(topic string) func() (int, string) {
	s.Helper()
	over, done := make(chan struct{}), make(chan int, 1)
	kcat := s.pipe("kcat", "-E", "-P", "-b", s.cluster.Bootstrap(), "-t", topic)
	go func() {
		pace := time.NewTicker(guestRest)
		defer pace.Stop()
		n := 0
		for {
			select {
			case <-over:
				done <- n
				return
			case <-pace.C:
				if _, err := fmt.Fprintln(kcat, n); err != nil {
					done <- n
					return
				}
				n++
			}
		}
	}()
	return func() (int, string) {
		close(over)
		sent := <-done
		_, failure := kcat.end()
		for line := range strings.Lines(kcat.err.String()) {
			if strings.Contains(line, "Delivery failed") { // of a broker that is away it tells, too, and goes on
				failure += line
			}
		}
		return sent, failure
	}
}

// piped is a command that works until its standard input ends.
type piped struct {
	io.WriteCloser
	cmd      *exec.Cmd
	out, err bytes.Buffer
	exited   chan struct{}
}

func (s *stage) pipe(line ...string) *piped {
	s.Helper()
	p := &piped{cmd: exec.Command(line[0], line[1:]...), exited: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	var err error
	if p.WriteCloser, err = p.cmd.StdinPipe(); err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		s.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // how it ended stands in its ProcessState
		close(p.exited)
	}()
	s.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended by itself
		<-p.exited
	})
	return p
}

// end closes the standard input. It gives what was printed, and how it ended if not well.
func (p *piped) end() (printed, failure string) {
	if err := p.Close(); err != nil {
		failure = err.Error()
	}
	select {
	case <-p.exited:
	case <-time.After(2 * node.Patience):
		return "", "it does not end"
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		failure = fmt.Sprintf("it ended with %d\n%s", code, p.err.String())
	}
	return p.out.String(), failure
}

// beginFranz writes with a client that is told the addresses and nothing else.
func (s *stage) beginFranz(topic string) func() (int, string) {
	s.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(s.cluster.Bootstrap(), ",")...), kgo.DefaultProduceTopic(topic))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(client.Close)
	over, done := make(chan struct{}), make(chan int, 1)
	var mu sync.Mutex
	var complaints bytes.Buffer
	go func() {
		pace := time.NewTicker(guestRest)
		defer pace.Stop()
		for n := 0; ; n++ {
			select {
			case <-over:
				done <- n
				return
			case <-pace.C:
				client.Produce(context.Background(), kgo.StringRecord(fmt.Sprint(n)), func(_ *kgo.Record, err error) {
					if err != nil {
						mu.Lock()
						defer mu.Unlock()
						fmt.Fprintln(&complaints, err)
					}
				})
			}
		}
	}()
	return func() (int, string) {
		close(over)
		sent := <-done
		within, cancel := context.WithTimeout(context.Background(), 2*node.Patience)
		defer cancel()
		err := client.Flush(within)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			fmt.Fprintln(&complaints, err)
		}
		return sent, complaints.String()
	}
}
