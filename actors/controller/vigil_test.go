package controller

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/actors/peer"
	"troupe/codec/batch"
	"troupe/codec/kerr"
	"troupe/configs"
	"troupe/internal/model"
)

// heard is what a node has logged, one line after the other, without times.
type heard struct{ strings.Builder }

func (h *heard) log() *slog.Logger {
	return slog.New(slog.NewTextHandler(h, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
			return slog.Attr{}
		}
		return a
	}}))
}

func (h *heard) expect(t *testing.T, lines ...string) {
	t.Helper()
	if got := strings.Split(strings.TrimSpace(h.String()), "\n"); !slices.Equal(got, lines) {
		t.Errorf("the log says\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(lines, "\n"))
	}
	h.Reset()
}

// A node that comes back alone says soon whom it waits for, when that changes and now and then, and that it is over.
func TestAQuorumWithoutALeaderIsToldWhileItLasts(t *testing.T) {
	w := newWorld(t, 1, 3)
	w.elected(2 * time.Second)
	for _, n := range w.nodes {
		n.kill(false)
	}
	one, two := w.node(1), w.node(2)
	var log heard
	one.log = log.log()
	one.missed = map[model.BrokerID]*peer.Missed{2: {At: peer.Address{Host: "h", Port: 2}, Err: peer.ErrRefused}}
	one.start()
	w.run(4 * time.Second)
	const message = `msg="no leader of the metadata quorum is reached" reason=`
	log.expect(t, message+`"1 of its 3 voters are there, and it takes 2; nobody at node 2, h:2 (connection refused), node 3, h:3" for=3s`)
	one.missed[3] = &peer.Missed{At: peer.Address{Host: "h", Port: 3}, Err: kerr.DuplicateBrokerRegistration}
	w.run(40 * time.Second)
	text := message + `"1 of its 3 voters are there, and it takes 2; nobody at node 2, h:2 (connection refused), node 3, h:3 (another live broker is registered under this id)" for=`
	log.expect(t, text+"8s", text+"38s")
	two.start()
	w.elected(2 * time.Second)
	w.run(time.Second)
	if got := log.String(); !strings.HasPrefix(got, `msg="the leader of the metadata quorum is reached" leader=`) || strings.Count(got, "\n") != 1 {
		t.Errorf("at the end the log says\n%s", got)
	}
}

func TestAnElectionIsNotTold(t *testing.T) {
	w := newWorld(t, 2, 3)
	lead := w.elected(2 * time.Second)
	var log heard
	for _, n := range w.nodes {
		if n != lead {
			n.kill(false)
			n.log = log.log()
			n.start()
		}
	}
	w.elected(2 * time.Second)
	lead.kill(true)
	w.run(time.Second)
	w.elected(2 * time.Second)
	w.run(time.Minute)
	if log.Len() > 0 {
		t.Errorf("the log says\n%s", log.String())
	}
}

func TestANodeAmongAnotherClusterIsToldSoWithItsFile(t *testing.T) {
	w := newWorld(t, 3, 3)
	w.elected(2 * time.Second)
	for _, n := range w.nodes {
		n.kill(false)
	}
	one := w.node(1)
	one.missed = map[model.BrokerID]*peer.Missed{}
	for id := model.BrokerID(2); id <= 3; id++ {
		one.missed[id] = &peer.Missed{At: peer.Address{Host: "h", Port: uint16(id)}, Err: &kerr.Error{Code: kerr.InconsistentClusterID, Detail: "it is of theirs"}}
	}
	one.start()
	w.run(4 * time.Second)
	want := "1 of its 3 voters are there, and it takes 2; nobody at node 2, h:2 (it is of theirs), node 3, h:3 (it is of theirs); " +
		"the data of this node says that it is of the cluster cluster (/data/meta.properties): to join another cluster it needs empty log directories"
	if got := one.board.Lacks(); got != want {
		t.Errorf("it lacks\n%s\nwant\n%s", got, want)
	}
}

// Its data was made elsewhere: nobody could find the addresses that it tries in its configuration.
func TestAddressesThatNobodyConfiguredAreExplained(t *testing.T) {
	bootstrap := func(c *configs.Broker) { c.Quorum.Bootstrap = []configs.Endpoint{{Host: "elsewhere", Port: 9093}} }
	w := newDynamicWorld(t, 4, 3, bootstrap)
	w.elected(2 * time.Second)
	for _, n := range w.nodes {
		n.kill(false)
	}
	one := w.node(1)
	one.start()
	w.run(4 * time.Second)
	if got := one.board.Lacks(); !strings.HasSuffix(got, "these are the voters of the cluster cluster by the metadata log in /data, none of them at an address of controller.quorum.bootstrap.servers") {
		t.Errorf("it lacks %s", got)
	}
}

// It would be refused by that one, which it cannot even ask.
func TestANodeWithTheNumberOfTheLeaderIsToldWhereThatIs(t *testing.T) {
	w := emptyWorld(t, 5, 3)
	for _, v := range w.voters {
		w.first = append(w.first, batch.Voter{ID: v.ID, DirectoryID: model.DirectoryID{15: byte(v.ID)}, MostKRaftVersion: 1,
			Endpoints: []batch.VoterEndpoint{{Host: v.Endpoint.Host, Port: v.Endpoint.Port}}})
	}
	w.seeds = w.first
	w.start()
	lead := w.elected(2 * time.Second)
	for _, n := range w.nodes {
		w.register(n)
	}
	second := w.add(lead.id)
	second.disks, second.joined = 1, true
	second.start()
	w.run(2 * time.Second)
	at := w.voters[lead.id-1].Endpoint
	if got, want := second.board.Lacks(), fmt.Sprintf("another process with the node.id %d leads it, at %s: one node.id is one node's", lead.id, at); got != want {
		t.Errorf("it lacks %q, want %q", got, want)
	}
}
