// Package node runs the troupe binary as a process of its own for the tests that look at it from outside: on free
// ports and a directory of the test's, with every way to stop it.
package node

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"
)

// Patience bounds every wait for a broker: far above what a slow machine needs, so that only a hang meets it.
const Patience = 60 * time.Second

// Options says how to start a broker. The zero value is a fresh broker with its defaults.
type Options struct {
	Dir string   // data directory; empty makes one that goes with the test
	Set []string // more --set key=value settings, which win over the harness's own
	// Config is a file that says everything but the admin port and Set.
	Config string
	Env    []string // more environment
}

// Node is one broker process, or several one after the other on the same ports and directory.
type Node struct {
	Addresses
	ID         int32 // node.id
	Dir        string
	Controller string // host:port of the controller listener, in a cluster

	t       testing.TB
	options Options
	cmd     *exec.Cmd
	output  *transcript
	former  []*transcript // of the processes before
	exited  chan struct{} // closed when the process is gone
}

// Start builds the binary when needed, starts it, and returns when it serves. The broker is killed with the test.
func Start(t testing.TB, o Options) *Node {
	t.Helper()
	n := New(t, o)
	n.Restart()
	return n
}

// New is Start without starting.
func New(t testing.TB, o Options) *Node {
	t.Helper()
	if o.Dir == "" { // its name must have no comma, which separates log directories
		o.Dir = t.TempDir()
	}
	ports := FreePorts(t, 2)
	n := &Node{t: t, ID: 1, Dir: o.Dir, options: o, Addresses: Addresses{Bootstrap: "127.0.0.1:" + ports[0], Admin: "127.0.0.1:" + ports[1]}}
	t.Cleanup(func() {
		if n.Running() {
			n.Kill()
		}
		if t.Failed() && n.output != nil {
			n.tell()
		}
	})
	return n
}

// tell logs what the broker has printed, and the last that its former processes did.
func (n *Node) tell() {
	n.t.Helper()
	for _, before := range n.former[max(0, len(n.former)-5):] {
		n.t.Logf("broker %d printed before a start:\n%s", n.ID, before.text(4<<10))
	}
	n.t.Logf("broker %d printed:\n%s", n.ID, n.output.text(32<<10))
}

// Set has the broker start with more settings from the next time on, over those that it had.
func (n *Node) Set(settings ...string) { n.options.Set = append(n.options.Set, settings...) }

// Restart starts the broker again on the directory and the ports it had. It must not be running.
func (n *Node) Restart() {
	n.t.Helper()
	if err := n.TryRestart(); err != nil {
		n.t.Fatal(err)
	}
}

// TryRestart is Restart for a broker that may refuse to start: the error tells what it printed.
func (n *Node) TryRestart() error {
	n.t.Helper()
	n.Launch()
	return n.AwaitReady()
}

// Launch starts the process and does not wait until it serves.
func (n *Node) Launch() {
	n.t.Helper()
	if n.Running() {
		n.t.Fatal("the broker runs already")
	}
	binary, err := Binary()
	if err != nil {
		n.t.Fatal(err)
	}
	if n.output != nil {
		n.former = append(n.former, n.output)
	}
	n.output, n.exited = newTranscript(), make(chan struct{})
	n.cmd = exec.Command(binary, n.arguments()...)
	n.cmd.Env = append(os.Environ(), n.options.Env...)
	n.cmd.Stdout, n.cmd.Stderr = n.output, n.output
	if err := n.cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	go func(cmd *exec.Cmd, exited chan struct{}) {
		// The state is read from cmd.ProcessState once exited is closed.
		_ = cmd.Wait()
		close(exited)
	}(n.cmd, n.exited)
}

func (n *Node) arguments() []string {
	args := []string{"start"}
	own := []string{"node.id=1", "listeners=PLAINTEXT://" + n.Bootstrap, "log.dirs=" + n.Dir}
	if n.options.Config != "" {
		args, own = append(args, "--config", n.options.Config), nil
	}
	for _, setting := range slices.Concat(own, []string{"admin.address=" + n.Admin}, n.options.Set) {
		args = append(args, "--set", setting)
	}
	return args
}

// AwaitReady waits until a process that was launched serves. The error of one that does not has what it printed.
func (n *Node) AwaitReady() error {
	select {
	case n.Addresses = <-n.output.ready:
		return nil
	case <-n.exited:
		return fmt.Errorf("the broker ended before it was ready (%v):\n%s", n.cmd.ProcessState, n.output.text(4<<10))
	case <-time.After(Patience):
		n.Signal(syscall.SIGQUIT) // Go prints the goroutines
		n.AwaitExit()
		return fmt.Errorf("the broker was not ready after %v:\n%s", Patience, n.output.text(64<<10))
	}
}

// Running tells whether the process is there.
func (n *Node) Running() bool {
	if n.cmd == nil {
		return false
	}
	select {
	case <-n.exited:
		return false
	default:
		return true
	}
}

// PID is the process's id.
func (n *Node) PID() int { return n.cmd.Process.Pid }

// Output gives what the broker printed since its last start.
func (n *Node) Output() string { return n.output.text(keptOutput) }

// Signal sends a signal. A process that is gone already is no error.
func (n *Node) Signal(s os.Signal) {
	n.t.Helper()
	if err := n.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		n.t.Fatalf("signal %v: %v", s, err)
	}
}

// Kill ends the process as a power cut of the process would (SIGKILL): nothing of the broker's own runs.
func (n *Node) Kill() {
	n.t.Helper()
	n.Signal(os.Kill)
	n.AwaitExit()
}

// terminated is how a process ends that caught SIGTERM and tells so: 128 and the signal's number, as Kafka does.
const terminated = 128 + 15

// Terminate asks for a clean stop (SIGTERM), waits for it and checks that the broker calls it one.
func (n *Node) Terminate() {
	n.t.Helper()
	n.Signal(syscall.SIGTERM)
	n.AwaitExit()
	if code := n.cmd.ProcessState.ExitCode(); code != 0 && code != terminated {
		n.t.Errorf("after SIGTERM the broker ended with %d:\n%s", code, n.output.text(4<<10))
	}
}

// AwaitExit waits until the process is gone.
func (n *Node) AwaitExit() {
	n.t.Helper()
	select {
	case <-n.exited:
	case <-time.After(Patience):
		n.t.Fatalf("the broker did not end in %v", Patience)
	}
}
