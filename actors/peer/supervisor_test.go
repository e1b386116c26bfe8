package peer_test

import (
	"testing"
	"time"

	"troupe/actors/kit"
	"troupe/actors/peer"
	"troupe/internal/model"
)

func TestANodeThatIsAloneConnectsToNobody(t *testing.T) {
	w := newWorld(t, 1)
	w.know("voters", 1)
	w.know("image", 1)
	w.pass(time.Minute)
	if len(w.dials) != 0 {
		t.Fatalf("%d connections were dialed", len(w.dials))
	}
	w.call(1, 1)
	w.call(2, 2)
	w.want("calls", &w.ended, "1: "+peer.ErrUnknown.Error(), "2: "+peer.ErrUnknown.Error())
}

func TestANodeHasALinkToEachOfItsListeners(t *testing.T) {
	w := newWorld(t, 1)
	both := peer.Node{ID: 2, Controller: address(2, peer.Controller), Broker: address(2, peer.Broker)}
	w.peers.Send(&peer.Know{Source: "image", Nodes: []peer.Node{both}})
	w.settle()
	if len(w.dials) != 2 || w.dials[0].to != both.Controller || w.dials[1].to != both.Broker {
		t.Fatalf("dialed %v", w.dials)
	}
	w.dials[0].stand(2)
	w.call(2, 1) // on the broker link, which is not up yet
	w.call(2, 2, func(c *peer.Call) { c.Link = peer.Controller })
	w.dials[0].answer(1, heartbeat(0))
	w.want("calls", &w.ended, "2: 0")
	w.want("watcher", &w.heard, "2 controller up, directory 2")
	w.dials[0].end(errReset) // harms the other link in nothing
	w.dials[1].stand(2)
	w.dials[1].answer(1, heartbeat(0))
	w.want("calls", &w.ended, "1: 0")
}

func TestSourcesTellOfNodesAndTheImageIsBelievedFirst(t *testing.T) {
	w := newWorld(t, 1)
	voter := peer.Node{ID: 2, Controller: address(2, peer.Controller)}
	w.peers.Send(&peer.Know{Source: "voters", Nodes: []peer.Node{voter}})
	w.settle()
	configured := w.last()
	configured.stand(2)
	w.want("watcher", &w.heard, "2 controller up, directory 2")
	w.call(2, 1)
	w.want("calls", &w.ended, "1: "+peer.ErrUnknown.Error()) // it has no listener for brokers

	registered := peer.Node{ID: 2, Controller: address(2, peer.Controller), Broker: address(2, peer.Broker)}
	w.peers.Send(&peer.Know{Source: "image", Nodes: []peer.Node{registered}})
	w.settle()
	if configured.closed || w.last().to != registered.Broker {
		t.Fatal("a word that changes nothing of a link broke it, or the new one was not dialed")
	}
	registered.Controller.Port = 7777
	w.peers.Send(&peer.Know{Source: "image", Nodes: []peer.Node{registered}})
	w.settle()
	if !configured.closed || w.last().to != registered.Controller {
		t.Fatalf("the node has moved, and %v was dialed", w.last().to)
	}
	w.want("watcher", &w.heard, "2 controller down, refused false")

	w.peers.Send(&peer.Know{Source: "image"})
	w.settle()
	if w.last().to != voter.Controller {
		t.Fatalf("the configured address counts again, and %v was dialed", w.last().to)
	}
}

func TestANodeThatNobodyTellsOfAnyMoreIsLeftAndMayComeBack(t *testing.T) {
	for seed := range uint64(5) {
		w, c := standing(t, seed)
		w.call(2, 1)
		w.know("image")
		w.want("calls", &w.ended, "1: "+peer.ErrDown.Error())
		w.want("watcher", &w.heard, "2 broker down, refused false")
		if !c.closed {
			t.Fatal("the connection is open")
		}
		w.call(2, 2)
		w.want("calls", &w.ended, "2: "+peer.ErrUnknown.Error())
		w.know("image", 2)
		w.last().stand(2)
		w.want("watcher", &w.heard, "2 broker up, directory 2")
	}
}

func TestAWatcherHearsHowTheLinksStand(t *testing.T) {
	w := newWorld(t, 1)
	w.know("image", 2, 3, 4, 5)
	for _, id := range []model.BrokerID{2, 3, 4} {
		w.dialed(id).stand(id)
	}
	w.dialed(3).end(errReset)
	w.dialed(3).end(peer.ErrRefused)
	w.dialed(4).end(errReset) // what became of it is not known yet
	w.heard = nil
	late := w.sys.Spawn("late", kit.Props{Kind: "watcher", New: func() kit.Behavior { return w }})
	w.peers.Send(&peer.Watch{Watcher: late})
	w.settle()
	w.want("late watcher", &w.heard, "2 broker up, directory 2", "3 broker down, refused true")
}

func TestANodeThatSaysHelloIsDialedAtOnce(t *testing.T) {
	w := newWorld(t, 1)
	w.know("image", 2)
	for range 6 {
		w.last().end(peer.ErrRefused)
		w.pass(time.Second)
	}
	w.last().end(peer.ErrRefused)
	before := len(w.dials)
	w.dir.Met(2)
	w.dir.Met(3) // nobody knows it
	w.settle()
	if len(w.dials) != before+1 {
		t.Fatalf("dialed %d times, want once", len(w.dials)-before)
	}
	w.dir.Met(2)
	w.settle()
	if len(w.dials) != before+1 {
		t.Fatal("dialed twice at a time")
	}
}

func TestASupervisorThatPanicsKnowsItsNodesAndWatchers(t *testing.T) {
	w, c := standing(t, 1)
	w.peers.Panic()
	w.settle()
	w.pass(time.Second)
	if !c.closed {
		t.Fatal("the connection of the old actor is open")
	}
	w.want("watcher", &w.heard, "2 broker down, refused false")
	w.last().stand(2)
	w.want("watcher", &w.heard, "2 broker up, directory 2")
	w.call(2, 1)
	w.last().answer(1, heartbeat(0))
	w.want("calls", &w.ended, "1: 0")
}

func TestLinksAreCounted(t *testing.T) {
	w, c := standing(t, 1)
	w.pass(2 * time.Second)
	w.call(2, 1)
	c.answer(1, heartbeat(0))
	w.call(2, 2)
	c.end(errReset)
	w.last().stand(2)
	s := w.dir.Stats()
	if len(s) != 1 { // it has one listener
		t.Fatalf("%d links are told", len(s))
	}
	got := s[0]
	if got.Node != 2 || got.Link != peer.Broker || !got.Up || got.Calls != 2 || got.Failures != 1 || got.Connections != 2 || got.SentBytes == 0 || got.ReceivedBytes == 0 {
		t.Fatalf("%+v", got)
	}
}

// One node ends before the other, and the supervisor still wants it.
func TestTheSupervisorEndsWithAllItsNodes(t *testing.T) {
	for seed := range uint64(5) {
		w := newWorld(t, seed)
		w.know("image", 2, 3)
		done := w.sys.Stop(w.peers)
		w.settle()
		select {
		case <-done:
		default:
			t.Fatal("the supervisor does not end")
		}
	}
}
