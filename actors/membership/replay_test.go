package membership

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"troupe/configs"
	"troupe/internal/model"
)

// overheard are packets that others send to a node after its end, before and after they have found that out.
func overheard(t *testing.T, ended *node) [][]byte {
	t.Helper()
	at := ended.address()
	ended.gossip.Close()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(at.Host), Port: int(at.Port)})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	for buf := make([]byte, packetMax); len(all) < 5; {
		n, err := conn.Read(buf)
		if err != nil {
			t.Fatalf("after %d packets: %v", len(all), err)
		}
		all = append(all, append([]byte(nil), buf[:n]...))
	}
	return all
}

// read waits until a node has read all that was thrown to it before: packets are read in the order in which they come.
func (n *node) read() {
	n.t.Helper()
	before := n.board.Refused()
	eventually(n.t, "it reads on", func() bool {
		throw(n.t, n, []byte("\xff\xfe garbage"))
		return n.board.Refused() > before
	})
}

// Memberlist does not know a packet that is repeated: what it tells has to be old news.
func TestPacketsThatAreRepeatedChangeNothing(t *testing.T) {
	a, b, c := three(t)
	packets := overheard(t, c)
	eventually(t, "it is suspected", func() bool { return a.hinted(3) && b.hinted(3) })
	c.record.Incarnation, c.record.Controller.Host = model.UUID{2}, "later"
	c.begin(key, a)
	back := func() bool {
		return a.sees("2 alive 3 alive") && b.sees("1 alive 3 alive") && c.sees("1 alive 2 alive") && a.knows(3).Host == "later" && b.knows(3).Host == "later"
	}
	eventually(t, "it is back", back)
	for _, n := range []*node{a, b, c} {
		for _, p := range packets {
			throw(t, n, p)
		}
		n.read()
	}
	eventually(t, "all are there, and the last process of each", back)
}

func TestPacketsOfNodesWithAnotherKeyChangeNothing(t *testing.T) {
	a, b := newNode(t, 1), newNode(t, 2)
	a.begin(key)
	b.begin(key, a)
	eventually(t, "they know each other", func() bool { return a.sees("2 alive") && b.sees("1 alive") })
	x, y := newNode(t, 1), newNode(t, 2)
	x.record.Controller.Host, y.record.Controller.Host = "theirs", "theirs"
	x.begin(other)
	y.begin(other, x)
	eventually(t, "the others know each other", func() bool { return x.sees("2 alive") && y.sees("1 alive") })
	for i, p := range overheard(t, x) { // they are about nodes of the same names
		before := a.board.Refused()
		eventually(t, "a packet is refused", func() bool {
			throw(t, a, p)
			return a.board.Refused() > before
		})
		if at := a.knows(2); at != b.record.Controller {
			t.Fatalf("after packet %d node 2 is at %v", i, at)
		}
	}
	eventually(t, "they know each other as before", func() bool { return a.sees("2 alive") && b.sees("1 alive") })
}

func TestAScoutWithAnotherKeyFindsNothing(t *testing.T) {
	a, _, _ := three(t)
	g := &configs.Gossip{Address: a.address(), Key: other, Seeds: []Address{a.address()}}
	found, err := Scout(context.Background(), g, newNode(t, 9).record, slog.New(slog.DiscardHandler))
	if err != nil || len(found) > 0 {
		t.Fatalf("found %v, %v", found, err)
	}
	eventually(t, "it is refused", func() bool { return a.board.Refused() > 0 })
	eventually(t, "the others are there as before", func() bool { return a.sees("2 alive 3 alive") })
}
