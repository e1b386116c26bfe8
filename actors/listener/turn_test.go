package listener

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/api"
	"troupe/actors/kit"
	"troupe/actors/trace"
)

// unserved is a connection without goroutines: a test runs those it is about.
func (w *world) unserved() (client net.Conn, c *conn) {
	w.t.Helper()
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	defer socket.Close()
	if client, err = net.Dial("tcp", socket.Addr().String()); err != nil {
		w.t.Fatal(err)
	}
	server, err := socket.Accept()
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { client.Close(); server.Close() })
	return client, newConn(w.deps, server, &api.Client{Listener: "test", Host: "127.0.0.1"})
}

func apiVersions(correlation int32) []byte {
	return kmsg.NewRequestFormatter().AppendRequest(nil, kmsg.NewPtrApiVersionsRequest(), correlation)
}

func TestTheReaderGivesOutTheRepliesToWhatItHasRead(t *testing.T) {
	w := newWorld(t)
	client, c := w.unserved()
	over := make(chan struct{})
	go func() { defer close(over); c.read() }() // and no writer
	for i := range int32(3) {
		if _, err := client.Write(apiVersions(i)); err != nil {
			t.Fatal(err)
		}
		if got, _ := readReply(t, client); got != i {
			t.Fatalf("reply %d, want %d", got, i)
		}
	}
	client.Close()
	<-over
}

func TestWhatTheSocketDoesNotTakeIsTheWritersAndTheReaderDoesNotWait(t *testing.T) {
	w := newWorld(t)
	client, c := w.unserved()
	p, _ := c.take(on(1), 1)
	q, _ := c.take(on(2), 2)
	const size = 16 << 20 // more than all buffers between here and the peer
	c.turning.Store(true)
	p.Ready(text(strings.Repeat("x", size)))
	q.Ready(text("y"))
	c.endTurn() // comes back
	if !c.writer.behind || len(c.wake) != 1 {
		t.Fatal("nothing is left to the writer, or it is not woken")
	}
	c.giveOut(&c.turn, false) // another who comes by leaves it alone
	over := make(chan struct{})
	go func() { defer close(over); c.write() }()
	if got, n := readReply(t, client); got != 1 || n != size {
		t.Fatalf("reply %d of %d bytes, want 1 of %d", got, n, size)
	}
	if got, _ := readReply(t, client); got != 2 {
		t.Fatalf("reply %d, want 2", got)
	}
	c.teardown()
	<-over
	w.nothingHeld()
}

func TestFilesAreLeftToTheWriter(t *testing.T) {
	w := newWorld(t)
	_, c := w.unserved()
	p, _ := c.take(on(1), 1)
	d := &filed{}
	c.turning.Store(true)
	p.ReadyLater(d)
	c.endTurn()
	if c.writer.held == nil || len(c.wake) != 1 {
		t.Fatal("the reply with a file in it is not left to the writer")
	}
	c.teardown()
	c.write()
	if d.sent != 1 {
		t.Errorf("the regions were let go %d times", d.sent)
	}
	w.nothingHeld()
}

// filed is a reply with a region in it.
type filed struct {
	poll
	sent int
}

func (d *filed) Poll(*kit.Turn, bool, kit.Errand) (*api.Payload, bool) {
	return &api.Payload{Bytes: []byte("x"), Holes: []api.Hole{{At: 1}}, Sent: func() { d.sent++ }}, true
}

func TestWhileTheReaderIsBlockedTheWriterAnswers(t *testing.T) {
	w := newWorld(t)
	_, c := w.unserved()
	p, _ := c.take(on(1), 1)
	q, _ := c.take(on(2), 2)
	c.turning.Store(true)
	p.Ready(text("x"))
	if len(c.wake) != 0 {
		t.Fatal("the writer is woken although the reader comes to it")
	}
	c.Block()
	if len(c.wake) != 1 {
		t.Fatal("what is ready waits for a reader that is blocked")
	}
	<-c.wake
	c.giveOut(&c.turn, true)
	q.Ready(text("y"))
	if len(c.wake) != 1 {
		t.Fatal("what becomes ready meanwhile waits for the reader")
	}
	c.Resume()
	c.endTurn()
	c.teardown()
	c.write()
	w.nothingHeld()
}

func TestAnotherConnectionsTurnAnswersALongPoll(t *testing.T) {
	w := newWorld(t)
	client, c := w.unserved()
	p, _ := c.take(on(1), 7)
	d := &poll{deadline: w.clock.Now().Add(time.Hour)}
	p.ReadyLater(d)
	var turn kit.Turn
	c.giveOut(&turn, false)
	if d.polls.Load() != 1 {
		t.Fatalf("polled %d times", d.polls.Load())
	}
	<-c.wake // of ReadyLater
	d.ready.Store(true)
	turn.Then(d.wake)
	turn.Finish()
	if got, _ := readReply(t, client); got != 7 || len(c.wake) != 0 {
		t.Fatalf("reply %d; woken: %d", got, len(c.wake))
	}
	c.teardown()
	c.write()
	w.nothingHeld()
}

// exploding is a long poll that panics once it has something.
type exploding struct{ poll }

func (d *exploding) Poll(_ *kit.Turn, last bool, wake kit.Errand) (*api.Payload, bool) {
	if d.ready.Load() {
		panic("boom")
	}
	return d.poll.Poll(nil, last, wake)
}

func TestALongPollThatPanicsOnAnothersTurnCostsItsConnectionOnly(t *testing.T) {
	w := newWorld(t)
	client, _ := w.connect()
	other, c := w.connect()
	p, _ := c.take(on(1), 7)
	d := &exploding{poll{deadline: w.clock.Now().Add(time.Hour)}}
	p.ReadyLater(d)
	w.eventually("it waits", func() bool { return d.polls.Load() > 0 })
	d.ready.Store(true)
	var turn kit.Turn
	turn.Then(c)
	turn.Finish() // the reader of client, say
	expectClosed(t, other)
	if _, err := client.Write(apiVersions(3)); err != nil {
		t.Fatal(err)
	}
	if got, _ := readReply(t, client); got != 3 {
		t.Errorf("reply %d", got)
	}
	w.nothingHeld()
}

func TestAPanicOfAHandlerLeavesTheActorsOfItsTurnToTheirOwn(t *testing.T) {
	w := newWorld(t)
	_, c := w.unserved()
	sys := kit.NewSystem(kit.Options{})
	got := make(chan struct{})
	a := sys.Spawn("a", kit.Props{Kind: "a", New: func() kit.Behavior { return receiver(got) }})
	w.eventually("the actor is asleep", func() bool { return !sys.Tree()[0].Busy })
	c.guard(readerName, func() {
		c.turn.Send(a, trace.Context{}, ping{})
		panic("boom")
	})
	<-got
	if err := sys.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
}

type ping struct{}

func (ping) MessageKind() string { return "ping" }

type receiver chan struct{}

func (r receiver) Receive(*kit.Context, kit.Message) { close(r) }

// waking is an errand that wakes an actor.
type waking struct{ kit.Ref }

func (e waking) Here(t *kit.Turn) { t.Send(e.Ref, trace.Context{}, ping{}) }
func (e waking) Elsewhere()       { e.Send(ping{}) }

func TestAfterATurnThatEndsInALaneAReplyWakesTheWriter(t *testing.T) {
	w := newWorld(t)
	_, c := w.unserved()
	sys := kit.NewSystem(kit.Options{})
	ran := make(chan struct{})
	lane := sys.Spawn("lane", kit.Props{
		Kind: "lane", Dedicated: true, Brief: func(kit.Message) bool { return true }, New: func() kit.Behavior { return receiver(ran) },
	})
	w.eventually("the lane is asleep", func() bool { return !sys.Tree()[0].Busy })
	p, _ := c.take(on(1), 1)
	c.turning.Store(true)
	c.turn.Then(waking{lane})
	c.endTurn()
	<-ran
	p.Ready(text("x")) // from elsewhere: the reader waits for bytes by now
	if len(c.wake) != 1 {
		t.Error("nobody gives out the reply")
	}
	c.teardown()
	c.write()
	w.nothingHeld()
	if err := sys.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// large is a long poll that wakes an actor, and has more to give than the peer takes.
type large struct {
	poll
	actor kit.Ref
}

func (d *large) Poll(t *kit.Turn, _ bool, _ kit.Errand) (*api.Payload, bool) {
	t.Send(d.actor, trace.Context{}, ping{})
	return &api.Payload{Bytes: make([]byte, 16<<20), Sent: func() {}}, true
}

func TestAnActorThatThePollHasWokenDoesNotWaitForThePeer(t *testing.T) {
	w := newWorld(t)
	_, c := w.unserved() // nobody reads
	sys := kit.NewSystem(kit.Options{})
	ran := make(chan struct{})
	a := sys.Spawn("a", kit.Props{Kind: "a", New: func() kit.Behavior { return receiver(ran) }})
	w.eventually("the actor is asleep", func() bool { return !sys.Tree()[0].Busy })
	p, _ := c.take(on(1), 1)
	over := make(chan struct{})
	go func() { defer close(over); c.write() }()
	p.ReadyLater(&large{actor: a})
	w.eventually("the actor is run", func() bool {
		select {
		case <-ran:
			return true
		default:
			return false
		}
	})
	c.teardown()
	<-over
	w.nothingHeld()
	if err := sys.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
}
