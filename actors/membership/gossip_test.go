package membership

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"

	"troupe/configs"
	"troupe/internal/model"
)

func TestNodesFindEachOtherByASeedAndAreSuspectedWhenTheyEnd(t *testing.T) {
	a, b, c := three(t)
	eventually(t, "who is told of nodes knows where it is", func() bool { return b.knows(3) == c.record.Controller })
	c.gossip.Close()
	eventually(t, "both have it suspected, and their controllers know", func() bool { return a.hinted(3) && b.hinted(3) })
	if got := b.knows(3); got != c.record.Controller {
		t.Fatal("the address of a node is forgotten that may be well")
	}
	c.record.Incarnation = model.UUID{2}
	c.begin(key, b)
	eventually(t, "its next process is known", func() bool { return a.sees("2 alive 3 alive") && b.sees("1 alive 3 alive") })
	eventually(t, "that it is another one", func() bool { return a.log.has("node was started again") })
}

func TestANodeThatLeavesIsGoneAndNotSuspected(t *testing.T) {
	a, b, c := three(t)
	c.gossip.Leave()
	eventually(t, "it is gone", func() bool { return a.sees("2 alive") && b.sees("1 alive") })
	before := a.board.Hints() + b.board.Hints()
	eventually(t, "memberlist has it out, too", func() bool { return a.gossip.list.NumMembers() == 2 && b.gossip.list.NumMembers() == 2 })
	eventually(t, "what it says of that has been heard", func() bool { return a.rests() && b.rests() })
	if !a.log.has("node leaves") || a.board.Hints()+b.board.Hints() > before {
		t.Fatal("it is suspected after its farewell")
	}
	c.record.Incarnation = model.UUID{2}
	c.begin(key, a)
	eventually(t, "it is back", func() bool { return a.sees("2 alive 3 alive") && b.sees("1 alive 3 alive") })
}

func TestANodeThatComesBackElsewhereIsFoundThere(t *testing.T) {
	a, b, c := three(t)
	c.gossip.Close()
	eventually(t, "it is suspected", func() bool { return a.hinted(3) && b.hinted(3) })
	c.record.Incarnation, c.record.Controller = model.UUID{2}, Address{Host: "moved", Port: 1}
	c.beginAt(Address{Host: "127.0.0.1"}, key, a)
	eventually(t, "the new address is known", func() bool { return a.knows(3).Host == "moved" && b.knows(3).Host == "moved" })
}

func TestAKeyKeepsEverybodyElseOut(t *testing.T) {
	a := newNode(t, 1)
	a.begin(key)
	for title, k := range map[string][]byte{"another key": other, "no key": nil} {
		stranger := newNode(t, 2)
		stranger.begin(k, a)
		before := a.board.Refused()
		eventually(t, "a node with "+title+" is refused", func() bool { return a.board.Refused() > before })
		if a.members() != "" || stranger.members() != "" {
			t.Fatalf("with %s: %q and %q", title, a.members(), stranger.members())
		}
		stranger.gossip.Close()
	}
	eventually(t, "it is told", func() bool { return a.log.has("gossip refused") })
}

func TestWhatIsNoPacketOfTheClusterChangesNothing(t *testing.T) {
	a, b := newNode(t, 1), newNode(t, 2)
	a.begin(key)
	b.begin(key, a)
	eventually(t, "they know each other", func() bool { return a.sees("2 alive") && b.sees("1 alive") })
	ping, err := memberlist.AddLabelHeaderToPacket([]byte{0, 1, 2, 3, 4, 5, 6, 7}, label)
	if err != nil {
		t.Fatal(err)
	}
	for title, packet := range map[string][]byte{
		"garbage":             []byte("\xff\xfe garbage"),
		"of another software": {0, 1, 2},
		"unsigned":            ping,
		"cut short":           {244, 200, 'x'},
	} {
		before := a.board.Refused()
		eventually(t, title+" is counted", func() bool {
			throw(t, a, packet)
			return a.board.Refused() > before
		})
	}
	if !a.sees("2 alive") || a.hinted(2) {
		t.Fatalf("node 1 sees %q, hinted %v", a.members(), a.hinted(2))
	}
}

func TestANodeOfAnotherClusterWithTheSameKeyStaysOut(t *testing.T) {
	a, b := newNode(t, 1), newNode(t, 2)
	b.record.ClusterID = "theirs"
	a.begin(key)
	b.begin(key, a)
	eventually(t, "both have refused it", func() bool { return a.board.Refused() > 0 && b.board.Refused() > 0 })
	if a.members()+b.members() != "" {
		t.Fatalf("they see %q and %q", a.members(), b.members())
	}
}

func TestTwoProcessesWithOneNumberAreNamed(t *testing.T) {
	a, b, double := newNode(t, 1), newNode(t, 2), newNode(t, 2)
	double.record.Incarnation, double.record.Controller.Host = model.UUID{2}, "double"
	a.begin(key)
	b.begin(key, a)
	eventually(t, "they know each other", func() bool { return a.sees("2 alive") && b.sees("1 alive") })
	double.begin(key, a)
	eventually(t, "the second is named", func() bool { return a.log.has("two processes have one node.id") && a.log.has("double") })
}

func TestTwoProcessesWithOneNumberAreNamedOnceAMinute(t *testing.T) {
	var out bytes.Buffer
	a := &actor{deps: Deps{Log: slog.New(slog.NewTextHandler(&out, nil))}}
	began := time.Unix(0, 0)
	for _, met := range []struct {
		node  model.BrokerID
		after time.Duration
		lines int
	}{{2, 0, 1}, {2, 43 * time.Millisecond, 1}, {3, time.Second, 2}, {2, 59 * time.Second, 2}, {2, time.Minute, 3}, {2, 61 * time.Second, 3}} {
		a.double(began.Add(met.after), &Duplicate{One: Record{NodeID: met.node}, Other: Record{NodeID: met.node}})
		if got := strings.Count(out.String(), "two processes have one node.id"); got != met.lines {
			t.Errorf("node %d after %s: %d lines, want %d", met.node, met.after, got, met.lines)
		}
	}
}

func TestAScoutFindsTheControllersOfAClusterAndJoinsNone(t *testing.T) {
	a, b, _ := three(t)
	g := &configs.Gossip{Address: a.address(), Key: key, Seeds: []Address{b.address()}}
	found, err := Scout(context.Background(), g, newNode(t, 9).record, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(found, func(x, y Address) int { return int(x.Port) - int(y.Port) })
	if !slices.Equal(found, []Address{{Host: "c", Port: 9001}, {Host: "c", Port: 9002}, {Host: "c", Port: 9003}}) {
		t.Fatalf("found %v", found)
	}
	if !a.sees("2 alive 3 alive") || !b.sees("1 alive 3 alive") || b.board.Refused() > 0 {
		t.Fatalf("they see %q and %q, and %d were refused", a.members(), b.members(), b.board.Refused())
	}
}

func TestGossipThatCannotBeginSaysWhy(t *testing.T) {
	a := newNode(t, 1)
	a.begin(key)
	taken := configs.Gossip{Address: a.address(), Key: key}
	if _, err := Open(Options{Config: &taken, Self: a.record, Log: slog.New(slog.DiscardHandler)}); err == nil || !strings.Contains(err.Error(), taken.Address.String()) {
		t.Errorf("the port is taken: %v", err)
	}
	large := a.record
	large.Rack, large.Controller.Host, large.Broker.Host = strings.Repeat("r", 200), strings.Repeat("h", 200), strings.Repeat("h", 200)
	if _, err := Open(Options{Config: &taken, Self: large, Log: slog.New(slog.DiscardHandler)}); err == nil || !strings.Contains(err.Error(), "cluster.gossip.address") {
		t.Errorf("the record is too large: %v", err)
	}
}

func TestAConnectionThatEndsWithoutAWordIsNobodysFault(t *testing.T) {
	a := newNode(t, 1)
	a.begin(key)
	for sent, refused := range map[string]bool{"": false, "GET / HTTP/1.1\r\n\r\n": true} {
		before := a.board.Refused()
		conn, err := net.Dial("tcp", a.address().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err = conn.Write([]byte(sent)); err == nil {
			err = conn.(*net.TCPConn).CloseWrite()
		}
		if err == nil {
			_, _ = io.Copy(io.Discard, conn) // it is closed, or reset, after it was judged
			err = conn.Close()
		}
		if err != nil || a.board.Refused() > before != refused {
			t.Errorf("%q: %d were refused: %v", sent, a.board.Refused()-before, err)
		}
	}
}
