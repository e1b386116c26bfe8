package listener

import (
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/actors/kit"
	"troupe/codec/private"
	"troupe/configs"
)

// meet gives a connection whose other end has shaken hands as a node.
func (w *world) meet() (net.Conn, *conn) {
	w.t.Helper()
	client, c := w.connect()
	c.client.Peer = &private.Identity{NodeID: 2}
	c.introduced()
	return client, c
}

func TestANodeIsAnsweredInAnyOrderAndABarrierHoldsItUpNowhere(t *testing.T) {
	w := newWorld(t)
	client, c := w.meet()
	barrier, _ := c.take(on(), 0)
	var taken []*pending
	for i := range int32(4) {
		p, ok := c.take(on(1), i+1) // of one ordering key
		if !ok {
			t.Fatal("the connection is gone")
		}
		taken = append(taken, p)
	}
	for _, i := range []int{3, 0, 2, 1} {
		taken[i].Ready(text("x"))
		if got, _ := readReply(t, client); got != int32(i+1) {
			t.Fatalf("reply %d came, want %d", got, i+1)
		}
	}
	barrier.Ready(text("x"))
	if got, _ := readReply(t, client); got != 0 {
		t.Fatalf("reply %d came last", got)
	}
	w.nothingHeld()
}

func TestALongPollOfANodeLetsOthersPass(t *testing.T) {
	const far = 24 * time.Hour
	for title, end := range map[string]func(w *world, d *poll, c *conn){
		"it is woken":            func(_ *world, d *poll, _ *conn) { d.finish() },
		"its time is up":         func(w *world, _ *poll, c *conn) { w.clock.Advance(far); c.signal() },
		"the broker stops":       func(_ *world, _ *poll, c *conn) { c.drain() },
		"it is woken in between": func(_ *world, d *poll, c *conn) { c.signal(); d.finish() },
	} {
		t.Run(title, func(t *testing.T) {
			w := newWorld(t)
			client, c := w.meet()
			d := &poll{deadline: w.clock.Now().Add(far)}
			p, _ := c.take(on(1), 1)
			p.ReadyLater(d)
			w.eventually("it is polled", func() bool { return d.polls.Load() > 0 })
			for i := range int32(3) {
				q, _ := c.take(on(), 2+i)
				q.Ready(text("x"))
				if got, _ := readReply(t, client); got != 2+i {
					t.Fatalf("reply %d came, want %d", got, 2+i)
				}
			}
			if n := d.polls.Load(); n != 1 {
				t.Errorf("it was polled %d times, though nothing came for it", n)
			}
			end(w, d, c)
			if got, _ := readReply(t, client); got != 1 {
				t.Errorf("reply %d came, want that of the long poll", got)
			}
			w.ends(d, 1, 0)
		})
	}
}

func TestTwoLongPollsOfANodeEndEachForItself(t *testing.T) {
	w := newWorld(t)
	client, c := w.meet()
	polls := []*poll{{deadline: w.clock.Now().Add(time.Hour)}, {deadline: w.clock.Now().Add(time.Minute)}, {deadline: w.clock.Now().Add(time.Hour)}}
	for i, d := range polls {
		p, _ := c.take(on(1), int32(i))
		p.ReadyLater(d)
		w.eventually("it is polled", func() bool { return d.polls.Load() > 0 })
	}
	polls[2].finish()
	if got, _ := readReply(t, client); got != 2 {
		t.Fatalf("reply %d came, want 2", got)
	}
	w.clock.Advance(time.Minute)
	c.signal()
	if got, _ := readReply(t, client); got != 1 {
		t.Fatalf("reply %d came, want 1", got)
	}
	if polls[0].polls.Load() != 1 {
		t.Error("the first was polled for others")
	}
	client.Close()
	w.eventually("the first is abandoned", func() bool { return polls[0].abandoned.Load() == 1 })
	w.nothingHeld()
}

func TestClientsCannotTakeTheCreditsOfOtherNodes(t *testing.T) {
	w := newWorld(t)
	w.deps.Credits, w.deps.NodeCredits = kit.NewCredits(requestSize), kit.NewCredits(requestSize)
	_, crowd := w.connect()
	greedy, _ := crowd.take(on(1), 1) // all that there are
	client, c := w.meet()
	p, ok := c.take(on(1), 7)
	if !ok || w.deps.NodeCredits.Used() != requestSize {
		t.Fatalf("admitted %v, %d credits of nodes are out", ok, w.deps.NodeCredits.Used())
	}
	p.Ready(text("x"))
	readReply(t, client)
	_, stranger := w.connect() // who has not shaken hands yet
	if hello, ok := stranger.take(&api.Handler{On: api.OnNodes}, 1); !ok {
		t.Fatal("a handshake waits for clients")
	} else {
		hello.Ready(text("x"))
	}
	w.eventually("the credits are back", func() bool { return w.deps.NodeCredits.Used() == 0 })
	greedy.Nothing()
	w.nothingHeld()
}

func TestAConnectionOfANodeIsNotClosedAsIdle(t *testing.T) {
	w := newWorld(t)
	idle, _ := w.connect()
	_, node := w.meet()
	w.clock.Advance(2 * w.deps.IdleMax)
	expectClosed(t, idle)
	// The peer may hear of the end before the books do.
	w.eventually("only the node's connection is open", func() bool { return slices.Equal(w.deps.all("PLAINTEXT"), []*conn{node}) })
}

func TestManyAnswersAtOnceLeaveNothingBehind(t *testing.T) {
	const rounds, atOnce = 20, 50
	w := newWorld(t)
	client, c := w.meet()
	var done sync.WaitGroup
	done.Go(func() {
		seen := map[int32]bool{}
		for range rounds * atOnce {
			id, _ := readReply(t, client)
			if seen[id] {
				t.Errorf("reply %d came twice", id)
			}
			seen[id] = true
		}
	})
	for round := range rounds {
		for i := range atOnce {
			p, _ := c.take(on(1), int32(round*atOnce+i))
			done.Go(func() {
				if i%2 == 0 {
					p.Ready(text("x"))
					return
				}
				d := &poll{deadline: w.clock.Now().Add(time.Hour)}
				d.ready.Store(i%4 == 1)
				p.ReadyLater(d)
				w.eventually("it is polled", func() bool { return d.polls.Load() > 0 })
				d.finish()
			})
		}
	}
	done.Wait()
	w.nothingHeld()
}

func TestControllersAreLetInWhenClientsHaveTakenAllConnections(t *testing.T) {
	w := newWorld(t)
	w.deps.Limits = func() *configs.Socket { return &configs.Socket{ConnectionsMax: 1, PerAddressMax: 1} }
	w.connect()
	here, there := net.Pipe()
	defer there.Close()
	for client, refused := range map[*api.Client]bool{{Listener: "PLAINTEXT"}: true, {Listener: "CONTROLLER", Controller: true}: false} {
		c := newConn(w.deps, here, client)
		if why := w.deps.enter(c); (why != "") != refused {
			t.Errorf("on %s: refused because %q", client.Listener, why)
		}
		w.deps.closed(c)
	}
}

func TestANodeOnAListenerOfClientsTakesNoneOfTheirConnections(t *testing.T) {
	w := newWorld(t)
	w.deps.Limits = func() *configs.Socket { return &configs.Socket{ConnectionsMax: 1, PerAddressMax: 1} }
	there, c := w.meet()
	here, far := net.Pipe()
	defer far.Close()
	client := newConn(w.deps, here, &api.Client{Listener: "PLAINTEXT", Host: c.client.Host})
	if why := w.deps.enter(client); why != "" {
		t.Fatalf("a client is refused beside a node: %s", why)
	}
	if why := w.deps.enter(newConn(w.deps, here, client.client)); why == "" {
		t.Fatal("a second client is let in")
	}
	there.Close()
	w.deps.closed(c)
	if why := w.deps.enter(newConn(w.deps, here, client.client)); why == "" {
		t.Fatal("the end of a node's connection makes room for a client")
	}
	w.deps.closed(client)
	if w.deps.clients != 0 || len(w.deps.perHost) != 0 {
		t.Fatalf("%d clients are on the books, %v", w.deps.clients, w.deps.perHost)
	}
}
