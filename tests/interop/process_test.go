//go:build interop

package interop

import (
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"testing"
	"time"

	"troupe/tests/kafka"
	"troupe/tests/node"
)

// What a shell runs in its background ignores SIGINT, and so would all that is started from here: consumers that are interrupted
// would not end. What is taken by nobody is ignored here alone.
func init() {
	if signal.Ignored(os.Interrupt) {
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
}

// process is a command that runs beside the test.
type process struct {
	t        testing.TB
	cmd      *exec.Cmd
	out, err output
	exited   chan struct{}
}

// output collects what a process writes.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// start starts a command line. It is killed with the test, if it still runs then.
func start(t testing.TB, line ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(line[0], line[1:]...), exited: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // how it ended stands in its ProcessState
		close(p.exited)
	}()
	t.Cleanup(func() {
		p.signal(os.Kill)
		<-p.exited
		if t.Failed() {
			t.Logf("%v printed\n%s\nand on standard error\n%s", p.cmd.Args, p.out.String(), p.err.String())
		}
	})
	return p
}

// lines are those that the process has printed.
func (p *process) lines() []string { return strings.Fields(p.out.String()) }

// await waits until so many lines are printed and gives them.
func (p *process) await(n int) []string {
	p.t.Helper()
	node.Eventually(p.t, "a consumer has printed its records", func() bool { return len(p.lines()) >= n })
	return p.lines()
}

func (p *process) running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

func (p *process) signal(s os.Signal) {
	if p.running() {
		// It may end at this moment by itself, which wait tells.
		_ = p.cmd.Process.Signal(s)
	}
}

// wait waits for the end and gives what the process left behind.
func (p *process) wait() kafka.Result {
	p.t.Helper()
	select {
	case <-p.exited:
	case <-time.After(node.Patience):
		p.t.Fatalf("%v does not end:\n%s%s", p.cmd.Args, p.out.String(), p.err.String())
	}
	// One that caught a signal ends with 128 and its number, in Java and here; one that was killed has no code, -1.
	return kafka.Result{Stdout: p.out.String(), Stderr: p.err.String(), Code: p.cmd.ProcessState.ExitCode()}
}

// end sends a signal and waits.
func (p *process) end(s os.Signal) kafka.Result {
	p.t.Helper()
	p.signal(s)
	return p.wait()
}
