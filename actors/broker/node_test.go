package broker

import (
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"troupe/configs"
	"troupe/internal/clock"
	"troupe/internal/vfs"
)

// patience bounds every wait: only a hang meets it.
const patience = 30 * time.Second

// node is one broker after the other on a disk in memory, in this process.
type node struct {
	t     testing.TB
	fs    *vfs.CrashFS
	clock clock.Clock
	set   []string
	log   transcript // of all brokers
	*Broker
}

func newNode(t testing.TB, seed uint64, set ...string) *node {
	n := &node{t: t, clock: clock.System(), set: set, fs: vfs.NewCrashFS(seed, clock.System())}
	t.Cleanup(n.abort)
	return n
}

func (n *node) start() {
	n.t.Helper()
	if err := n.tryStart(); err != nil {
		n.t.Fatalf("start: %v", err)
	}
}

func (n *node) tryStart() error {
	n.t.Helper()
	loaded, err := configs.Load(configs.Options{Hostname: "localhost", Set: append([]string{
		"node.id=1", "listeners=PLAINTEXT://127.0.0.1:0", "log.dirs=/data", "admin.address=", "log.initial.task.delay.ms=3600000",
	}, n.set...)})
	if err != nil {
		n.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	b, err := Start(ctx, Options{Config: loaded, Log: slog.New(slog.NewTextHandler(io.MultiWriter(&n.log, logTo()), nil)), FS: n.fs, Clock: n.clock})
	if err == nil {
		n.Broker = b
	}
	return err
}

// transcript keeps log lines.
type transcript struct {
	sync.Mutex
	text strings.Builder
}

func (j *transcript) Write(p []byte) (int, error) {
	j.Lock()
	defer j.Unlock()
	return j.text.Write(p)
}

// lines gives those that hold a text.
func (j *transcript) lines(holding string) (found []string) {
	j.Lock()
	defer j.Unlock()
	for line := range strings.Lines(j.text.String()) {
		if strings.Contains(line, holding) {
			found = append(found, line)
		}
	}
	return found
}

// logTo keeps the brokers quiet unless somebody looks for a fault.
func logTo() io.Writer {
	if os.Getenv("TROUPE_TEST_LOG") != "" {
		return os.Stderr
	}
	return io.Discard
}

// address is where the first listener answers.
func (n *node) address() string { return n.sockets[0].socket.Addr().String() }

func (n *node) abort() {
	if n.Broker != nil {
		n.Abort()
		n.Broker = nil
	}
}

func (n *node) stopClean() {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := n.Stop(ctx); err != nil {
		n.t.Errorf("stop: %v", err)
	}
	n.Broker = nil
}

// cutPower ends the broker with the power: the disk keeps what was synced, and some of the rest.
func (n *node) cutPower() {
	n.fs.CutAfter(1) // from here on nothing reaches the disk
	n.abort()
	n.fs.Crash()
}

// killAfter ends the process within the nth call from now that changes something: a write is done in part, what comes after
// it not at all. The page cache lives on.
func (n *node) killAfter(calls int, random *rand.Rand) {
	left, part := atomic.Int64{}, random.Float64()
	left.Store(int64(calls))
	n.fs.Hook(func(c vfs.Call) (f vfs.Fault) {
		now := left.Add(-1)
		if now > 0 {
			return f
		}
		f.Err = vfs.ErrPowerOff
		if now == 0 {
			f.Bytes = int64(part * float64(c.Len))
		}
		return f
	})
}

// kill does that now, if it has not happened yet, and clears up.
func (n *node) kill() {
	n.fs.Hook(func(vfs.Call) vfs.Fault { return vfs.Fault{Err: vfs.ErrPowerOff} })
	n.abort()
	n.fs.Hook(nil)
}

// restarts is how often the tree says that an actor was restarted.
func (n *node) restarts(name string) uint32 {
	for _, a := range n.system.Tree() {
		if a.Name == name {
			return a.Restarts
		}
	}
	return 0
}

func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("after %v it does not hold that %s", patience, what)
		}
		<-again.C
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
