//go:build unix

package integration

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/tests/node"
	"troupe/tests/wire"
)

// local is `troupe cluster` while it runs.
type local struct {
	t      *testing.T
	cmd    *exec.Cmd
	dir    string
	port   int
	mu     sync.Mutex
	errors strings.Builder
	lines  chan string // of standard output
	exited chan struct{}
}

func runLocal(t *testing.T, dir string, port int, more ...string) *local {
	t.Helper()
	binary, err := node.Binary()
	if err != nil {
		t.Fatal(err)
	}
	l := &local{t: t, dir: dir, port: port, lines: make(chan string, 16), exited: make(chan struct{})}
	l.cmd = exec.Command(binary, append([]string{"cluster", "--nodes", "3", "--dir", dir, "--port", strconv.Itoa(port)}, more...)...)
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	l.cmd.Stderr = l
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go l.read(out)
	t.Cleanup(l.end)
	return l
}

// Write takes standard error.
func (l *local) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.errors.Write(p)
}

func (l *local) said() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.errors.String()
}

func (l *local) read(out io.Reader) {
	for s := bufio.NewScanner(out); s.Scan(); {
		l.lines <- s.Text()
	}
	_ = l.cmd.Wait() // the state tells more
	close(l.exited)
}

// end kills the nodes with the command, which could not do it.
func (l *local) end() {
	for id := range 3 {
		if pid, err := l.pid(id + 1); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may be gone
		}
	}
	_ = l.cmd.Process.Kill()
	<-l.exited
	if l.t.Failed() {
		l.t.Logf("the command said:\n%s", l.said())
	}
}

func (l *local) pid(id int) (int, error) {
	text, err := os.ReadFile(filepath.Join(l.dir, fmt.Sprintf("node-%d", id), "pid"))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

func (l *local) address(id int) string { return fmt.Sprintf("127.0.0.1:%d", l.port+id-1) }

func (l *local) awaitReady() {
	l.t.Helper()
	select {
	case line := <-l.lines:
		if !strings.HasPrefix(line, "troupe cluster is ready: nodes=3 bootstrap="+l.address(1)+","+l.address(2)+","+l.address(3)) {
			l.t.Fatalf("said %q", line)
		}
	case <-l.exited:
		l.t.Fatalf("it ended (%v)", l.cmd.ProcessState)
	case <-time.After(node.Patience):
		l.t.Fatal("three nodes do not serve")
	}
}

// interrupt is a Ctrl-C.
func (l *local) interrupt() {
	l.t.Helper()
	if err := l.cmd.Process.Signal(os.Interrupt); err != nil {
		l.t.Fatal(err)
	}
	select {
	case <-l.exited:
	case <-time.After(node.Patience):
		l.t.Fatal("it does not end")
	}
	if code := l.cmd.ProcessState.ExitCode(); code != 0 {
		l.t.Errorf("it ended with %d", code)
	}
}

func TestThreeNodesOfThisMachineAreAClusterThatKeepsItsData(t *testing.T) {
	l := runLocal(t, filepath.Join(t.TempDir(), "c"), node.LocalClusterPort(t), "--rack", "a,b", "--set", "num.partitions=2")
	l.awaitReady()
	client, err := kgo.NewClient(kgo.SeedBrokers(l.address(1), l.address(2), l.address(3)), kgo.AllowAutoTopicCreation(), kgo.DefaultProduceTopic("kept"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.ProduceSync(t.Context(), kgo.StringRecord("one"), kgo.StringRecord("two")).FirstErr(); err != nil {
		t.Fatal(err)
	}
	topic := metadata(wire.Dial(t, l.address(2)), "kept")
	if len(topic.Brokers) != 3 || len(topic.Topics[0].Partitions) != 2 || len(topic.Topics[0].Partitions[0].Replicas) != 3 {
		t.Errorf("the cluster is %+v", topic)
	}
	l.interrupt()
	if strings.Contains(l.said(), "not stopped in order") {
		t.Error("a node did not stop in order")
	}
	if _, err := l.pid(1); !os.IsNotExist(err) {
		t.Errorf("a process is recorded that is gone: %v", err)
	}

	l = runLocal(t, l.dir, l.port)
	l.awaitReady()
	reader, err := kgo.NewClient(kgo.SeedBrokers(l.address(3)), kgo.ConsumeTopics("kept"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	within, cancel := context.WithTimeout(t.Context(), node.Patience)
	defer cancel()
	for got := 0; got < 2; {
		fetched := reader.PollFetches(within)
		if within.Err() != nil {
			t.Fatalf("read %d records", got)
		}
		got += fetched.NumRecords()
	}
	l.interrupt()
}

func TestANodeThatIsKilledIsReportedAndLeftUntilSomebodyStartsIt(t *testing.T) {
	l := runLocal(t, t.TempDir(), node.LocalClusterPort(t))
	l.awaitReady()
	pid, err := l.pid(2)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(l.dir, "node-2", "troupe.yaml")
	node.Eventually(t, "the end of node 2 is reported", func() bool {
		return strings.Contains(l.said(), "node 2 is gone (signal: killed); to start it again: troupe start --config "+config)
	})
	hand := node.New(t, node.Options{Dir: t.TempDir(), Config: config})
	hand.Restart()
	node.Eventually(t, "node 2 is in the cluster again", func() bool {
		req := kmsg.NewPtrMetadataRequest()
		req.Topics = []kmsg.MetadataRequestTopic{}
		resp, err := wire.Try[*kmsg.MetadataResponse](l.address(1), wire.Versioned(req, 12), time.Second)
		return err == nil && len(resp.Brokers) == 3
	})
	hand.Terminate()
	l.interrupt()
}

func TestWithRestartANodeThatIsKilledComesBack(t *testing.T) {
	l := runLocal(t, t.TempDir(), node.LocalClusterPort(t), "--restart")
	l.awaitReady()
	before, err := l.pid(3)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	node.Eventually(t, "node 3 is started again", func() bool {
		now, err := l.pid(3)
		return err == nil && now != before && strings.Count(l.said(), "node-3 | troupe is ready") == 2
	})
	l.interrupt()
}
