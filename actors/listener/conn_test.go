package listener

import (
	"context"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"troupe/actors/api"
	"troupe/actors/controller"
	"troupe/actors/kit"
	"troupe/actors/replica"
	"troupe/actors/trace"
	"troupe/cluster/image"
	"troupe/configs"
	"troupe/internal/clock"
	"troupe/internal/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 30 * time.Second

// world is a listener with a node that has no topics. Requests are put into a connection by hand, so that a test says
// when each is answered.
type world struct {
	t     testing.TB
	clock *clock.Manual
	deps  *Deps
	addr  string
}

type noTopics struct{ image *image.Image }

func (n noTopics) Image() *image.Image { return n.image }

func newWorld(t testing.TB) *world {
	t.Helper()
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, clock: clock.NewManual(time.Unix(1_700_000_000, 0)), addr: socket.Addr().String()}
	system := kit.NewSystem(kit.Options{Clock: w.clock})
	ctx, cancel := context.WithCancel(context.Background())
	log := slog.New(slog.DiscardHandler)
	w.deps = &Deps{
		Node: &api.Node{
			ID: 1, Config: &configs.Broker{}, Images: noTopics{image.Empty("c")}, Replicas: replica.NewDirectory(),
			Authorizer: api.AllowAll{}, APIs: api.Table(), Sessions: api.NewSessions(w.clock, 10), Clock: w.clock, Log: log, Stats: &api.Stats{},
			Quorum: controller.NewBoard().Status,
		},
		Log: log, Trace: trace.New(trace.Options{Clock: w.clock}), Context: ctx, Credits: kit.NewCredits(1 << 20),
		ConnectionBytes: 1 << 20, RequestMax: 1 << 20, IdleMax: time.Minute, SendBuffer: 4096, ReceiveBuffer: -1,
		Limits:      func() *configs.Socket { return &configs.Socket{ConnectionsMax: 100, PerAddressMax: 100} },
		Descriptors: vfs.NewDescriptors(10_000), Observe: func(*api.Served) {},
	}
	actor := &Actor{Deps: w.deps, Name: "PLAINTEXT", Socket: socket}
	system.Spawn("listener", kit.Props{Kind: "listener", New: func() kit.Behavior { return actor }})
	t.Cleanup(func() {
		cancel()
		w.deps.Cut()
		if err := system.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return w
}

// connect gives both ends of a new connection.
func (w *world) connect() (net.Conn, *conn) {
	w.t.Helper()
	known := w.deps.all("PLAINTEXT")
	client, err := net.Dial("tcp", w.addr)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { client.Close() })
	var server *conn
	w.eventually("the connection is accepted", func() bool {
		all := w.deps.all("PLAINTEXT")
		for _, c := range all {
			if c.net.RemoteAddr().String() == client.LocalAddr().String() {
				server = c
			}
		}
		return len(all) > len(known)
	})
	return client, server
}

func (w *world) eventually(what string, holds func() bool) {
	w.t.Helper()
	deadline := time.Now().Add(patience)
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for !holds() {
		if time.Now().After(deadline) {
			w.t.Fatalf("after %v it does not hold that %s", patience, what)
		}
		<-again.C
	}
}

// nothingHeld checks that every credit and every descriptor is back.
func (w *world) nothingHeld() {
	w.t.Helper()
	w.eventually("nothing is held", func() bool {
		used, _ := w.deps.Descriptors.Used(vfs.ShareConnections)
		return w.deps.Credits.Used() == 0 && used == len(w.deps.all("PLAINTEXT"))
	})
}

// ends waits until a long poll is over, which is told it after the credits are given back, and expects it to be told so once.
func (w *world) ends(d *poll, sent, abandoned int32) {
	w.t.Helper()
	w.nothingHeld()
	w.eventually("the poll is over", func() bool { return d.sent.Load()+d.abandoned.Load() > 0 })
	if s, a := d.sent.Load(), d.abandoned.Load(); s != sent || a != abandoned {
		w.t.Errorf("sent %d times, abandoned %d times", s, a)
	}
}

// on is an API of the test's own that orders by the keys given; none makes it a barrier.
func on(keys ...uint64) *api.Handler {
	h := &api.Handler{Key: 3, Max: 100}
	if len(keys) > 0 {
		h.Order.Keys = func(_ *api.Node, dst []uint64, _ kmsg.Request) []uint64 { return append(dst, keys...) }
	}
	return h
}

const requestSize = 100

// take admits a request as the reader would; false when the connection is gone.
func (c *conn) take(h *api.Handler, correlation int32) (*pending, bool) {
	p := &pending{conn: c, handler: h, correlation: correlation, size: requestSize, received: c.deps.Node.Clock.Now()}
	if c.acquire(p) != nil {
		return nil, false
	}
	if !c.admit(p) {
		c.letGo(p)
		return nil, false
	}
	return p, true
}

// text is a reply body.
type text string

func (b text) AppendTo(dst []byte) []byte { return append(dst, b...) }

// readReply gives the correlation id of the next reply and its length.
func readReply(t *testing.T, client net.Conn) (int32, int) {
	t.Helper()
	if err := client.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	var head [8]byte
	if _, err := io.ReadFull(client, head[:]); err != nil {
		t.Fatalf("reply: %v", err)
	}
	size := int(head[0])<<24 | int(head[1])<<16 | int(head[2])<<8 | int(head[3])
	if _, err := io.CopyN(io.Discard, client, int64(size-4)); err != nil {
		t.Fatalf("reply: %v", err)
	}
	return int32(head[4])<<24 | int32(head[5])<<16 | int32(head[6])<<8 | int32(head[7]), size - 4
}

func expectClosed(t *testing.T, client net.Conn) {
	t.Helper()
	if err := client.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if n, err := client.Read(make([]byte, 1)); err == nil {
		t.Errorf("the broker sent %d more bytes, want the connection closed", n)
	} else if ne, ok := err.(net.Error); ok && ne.Timeout() {
		t.Error("the connection stays open")
	}
}

// poll is a long poll that is answered when ready is set.
type poll struct {
	deadline  time.Time
	ready     atomic.Bool
	abandoned atomic.Int32
	sent      atomic.Int32
	polls     atomic.Int32

	mu   sync.Mutex
	wake kit.Errand
}

func (d *poll) Poll(_ *kit.Turn, last bool, wake kit.Errand) (*api.Payload, bool) {
	d.mu.Lock()
	d.wake = wake
	d.mu.Unlock()
	d.polls.Add(1)
	if !last && !d.ready.Load() {
		return nil, false
	}
	return &api.Payload{Bytes: []byte("polled"), Sent: func() { d.sent.Add(1) }}, true
}

func (d *poll) Deadline() time.Time { return d.deadline }
func (d *poll) Abandon()            { d.abandoned.Add(1) }

func (d *poll) finish() {
	d.ready.Store(true)
	d.mu.Lock()
	wake := d.wake
	d.mu.Unlock()
	wake.Elsewhere()
}
