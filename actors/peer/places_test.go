package peer_test

import (
	"testing"
	"time"

	"troupe/actors/peer"
	"troupe/codec/private"
)

// elsewhere is another address that node 2 may be at.
var elsewhere = peer.Address{Host: "elsewhere", Port: 1}

func (w *world) hint(at ...peer.Address) {
	w.t.Helper()
	know := &peer.Know{Source: "a hint", Hint: true}
	for _, a := range at {
		know.Nodes = append(know.Nodes, peer.Node{ID: 2, Broker: a})
	}
	w.peers.Send(know)
	w.settle()
}

func TestAnAddressThatIsAHintIsTriedWhereTheNodeIsNotMet(t *testing.T) {
	w := newWorld(t, 1)
	w.hint(elsewhere)
	w.know("image", 2)
	if w.last().to != address(2, peer.Broker) {
		t.Fatalf("dialed %v first", w.last().to)
	}
	for _, want := range []peer.Address{elsewhere, address(2, peer.Broker), elsewhere} {
		w.last().end(peer.ErrRefused)
		w.pass(time.Second)
		if w.last().to != want {
			t.Fatalf("dialed %v, want %v", w.last().to, want)
		}
	}
	w.last().stand(2)
	w.want("watcher", &w.heard, "2 broker up, directory 2")
	w.know("image", 2) // nothing new
	w.hint()           // whoever gave it has nothing to say any more
	if w.last().to != address(2, peer.Broker) {
		t.Fatal("the link still goes to an address that nobody tells of")
	}
}

func TestARefusalAtAnAddressWhereTheNodeWasNotMetIsNoEvidenceThatItHasEnded(t *testing.T) {
	w := newWorld(t, 1)
	w.know("image", 2)
	w.hint(elsewhere)
	w.last().stand(2)
	w.pass(time.Minute)
	w.heard = nil
	w.last().end(errReset)
	if w.last().to != address(2, peer.Broker) {
		t.Fatalf("the node stood at another address than %v, which was dialed", w.last().to)
	}
	w.pass(2 * time.Second) // nobody answers there
	w.pass(time.Second)
	if w.last().to != elsewhere {
		t.Fatalf("dialed %v", w.last().to)
	}
	w.last().end(peer.ErrRefused)
	w.want("watcher", &w.heard, "2 broker down, refused false")
	w.pass(time.Second)
	w.last().end(peer.ErrRefused) // where it was
	w.want("watcher", &w.heard, "2 broker down, refused true")
}

func TestAnotherNodeAtTheAddressOfAHintIsNotTakenForTheOneExpected(t *testing.T) {
	w := newWorld(t, 1)
	w.know("image", 2)
	w.hint(elsewhere)
	w.last().end(peer.ErrRefused)
	w.pass(time.Second)
	w.last().open()
	w.last().answer(0, &private.HelloResponse{Node: identity(3)})
	w.heard = nil
	w.pass(5 * time.Second)
	if w.last().to != address(2, peer.Broker) {
		t.Fatalf("dialed %v", w.last().to)
	}
	w.last().stand(2)
	w.want("watcher", &w.heard, "2 broker up, directory 2")
}

func TestAProbeGivesUpALinkThatIsSilentAndLeavesOneThatAnswersAlone(t *testing.T) {
	w, c := standing(t, 1)
	w.pass(time.Minute)
	before := len(c.frames)
	w.peers.Send(&peer.Probe{ID: 2})
	w.peers.Send(&peer.Probe{ID: 2}) // one question at a time
	w.peers.Send(&peer.Probe{ID: 7}) // nobody
	w.settle()
	if len(c.frames) != before+1 {
		t.Fatalf("%d questions were sent, want 1", len(c.frames)-before)
	}
	w.pass(500 * time.Millisecond)
	w.call(2, 1)
	c.answer(2, heartbeat(0)) // the answer to something else is an answer, too
	w.want("calls", &w.ended, "1: 0")
	w.pass(10 * time.Second)
	if c.closed || len(w.heard) > 0 {
		t.Fatalf("the link was given up, and it was heard %v", w.heard)
	}

	w.peers.Send(&peer.Probe{ID: 2})
	w.settle()
	w.call(2, 2)
	w.pass(999 * time.Millisecond)
	if c.closed {
		t.Fatal("given up within a second")
	}
	w.pass(time.Millisecond)
	if !c.closed {
		t.Fatal("the silent link stands")
	}
	w.want("watcher", &w.heard, "2 broker down, refused false")
	w.want("calls", &w.ended, "2: "+peer.ErrDown.Error())
	w.last().end(peer.ErrRefused)
	w.want("watcher", &w.heard, "2 broker down, refused true")
}
