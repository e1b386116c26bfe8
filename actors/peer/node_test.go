package peer_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/peer"
	"troupe/actors/trace"
	"troupe/codec/kerr"
	"troupe/codec/private"
)

var errReset = errors.New("connection reset by peer")

// standing is a world whose node 2 is connected.
func standing(t *testing.T, seed uint64) (*world, *conn) {
	w := newWorld(t, seed)
	w.know("image", 2)
	c := w.last()
	c.stand(2)
	w.want("watcher", &w.heard, "2 broker up, directory 2")
	return w, c
}

func TestACallGoesOutAfterTheHandshakeAndItsReplyComesBack(t *testing.T) {
	w := newWorld(t, 1)
	w.know("image", 2)
	w.call(2, 7) // waits for the connection
	c := w.last()
	if c.to != address(2, peer.Broker) || len(c.frames) != 0 {
		t.Fatalf("dialed %v, wrote %d frames before it was open", c.to, len(c.frames))
	}
	c.open()
	h, req := c.request(0)
	if hello, ok := req.(*private.HelloRequest); !ok || hello.Node != identity(1) || len(c.frames) != 1 {
		t.Fatalf("began with %T %+v of %d frames", req, req, len(c.frames))
	}
	c.answer(0, &private.HelloResponse{Node: identity(2)})
	h, req = c.request(1)
	if beat, ok := req.(*kmsg.BrokerHeartbeatRequest); !ok || beat.BrokerEpoch != 7 || h.Version != 1 || h.Tags != nil {
		t.Fatalf("sent %T %+v with %+v", req, req, h)
	}
	c.answer(1, heartbeat(77))
	w.want("call", &w.ended, "7: 77")
}

func TestRepliesFindTheirCallsInWhateverOrderTheyCome(t *testing.T) {
	w, c := standing(t, 1)
	for n := range int64(3) {
		w.call(2, n)
	}
	for _, n := range []int{2, 0, 1} {
		c.answer(n+1, heartbeat(int16(n)))
	}
	c.answer(1, heartbeat(9)) // a reply that came before is nobody's
	w.want("calls", &w.ended, "2: 2", "0: 0", "1: 1")
}

func TestALinkThatBreaksFailsItsCallsAtOnceAndIsDialedAgain(t *testing.T) {
	for seed := range uint64(5) {
		w, c := standing(t, seed)
		w.pass(2 * time.Second)
		for n := range int64(3) {
			w.call(2, n)
		}
		c.end(errReset)
		w.want("calls", &w.ended, "0: "+peer.ErrDown.Error(), "1: "+peer.ErrDown.Error(), "2: "+peer.ErrDown.Error())
		w.want("watcher", &w.heard, "2 broker down, refused false")
		again := w.last()
		if again == c {
			t.Fatal("the node was not dialed again at once")
		}
		again.end(peer.ErrRefused)
		w.want("watcher", &w.heard, "2 broker down, refused true")
		w.call(2, 3) // the link rests
		w.want("calls", &w.ended, "3: "+peer.ErrDown.Error())
		w.pass(100 * time.Millisecond)
		w.call(2, 4)
		w.last().stand(2)
		w.last().answer(1, heartbeat(0))
		w.want("calls", &w.ended, "4: 0")
		w.want("watcher", &w.heard, "2 broker up, directory 2")
	}
}

func TestACallThatIsNotAnsweredInTimeFailsAndItsLateReplyIsDropped(t *testing.T) {
	w, c := standing(t, 1)
	w.call(2, 1, func(c *peer.Call) { c.Deadline = w.clock.Now().Add(300 * time.Millisecond) })
	w.call(2, 2) // for the default of ten seconds
	w.call(2, 3, func(c *peer.Call) { c.Deadline = w.clock.Now().Add(200 * time.Millisecond) })
	w.pass(200 * time.Millisecond)
	w.want("calls", &w.ended, "3: "+peer.ErrTimeout.Error())
	w.pass(100 * time.Millisecond)
	w.want("calls", &w.ended, "1: "+peer.ErrTimeout.Error())
	c.answer(1, heartbeat(5))
	w.want("calls", &w.ended)
	w.pass(9699 * time.Millisecond)
	w.want("calls", &w.ended)
	w.pass(time.Millisecond)
	w.want("calls", &w.ended, "2: "+peer.ErrTimeout.Error())
	if c.closed {
		t.Fatal("the link was given up, though something was received since the call went out")
	}
}

func TestALinkThatFallsSilentIsGivenUp(t *testing.T) {
	w, c := standing(t, 1)
	w.pass(time.Minute)
	w.call(2, 1, func(c *peer.Call) { c.Deadline = w.clock.Now().Add(3 * time.Second) })
	w.call(2, 2)
	w.pass(3 * time.Second)
	w.want("calls", &w.ended, "1: "+peer.ErrTimeout.Error(), "2: "+peer.ErrDown.Error())
	w.want("watcher", &w.heard, "2 broker down, refused false")
	if !c.closed || w.last() == c {
		t.Fatalf("the old connection is closed: %v; dialed again: %v", c.closed, w.last() != c)
	}
	c.end(errReset) // of a connection that is forgotten
	w.last().stand(2)
	w.want("watcher", &w.heard, "2 broker up, directory 2")
}

func TestCallsInFlightAreBoundedAndTheRestWait(t *testing.T) {
	const onTheWire, waiting = 512, 8192
	w, c := standing(t, 1)
	for n := range int64(onTheWire + waiting) {
		w.call(2, n)
	}
	if len(c.frames) != 1+onTheWire {
		t.Fatalf("%d calls are on the wire, want %d", len(c.frames)-1, onTheWire)
	}
	w.call(2, -1)
	w.want("calls", &w.ended, "-1: "+peer.ErrCrowded.Error())
	c.answer(1, heartbeat(0))
	if _, req := c.request(1 + onTheWire); req.(*kmsg.BrokerHeartbeatRequest).BrokerEpoch != onTheWire {
		t.Fatalf("the next on the wire is %+v", req)
	}
	w.ended = nil
	c.end(errReset)
	if len(w.ended) != onTheWire+waiting-1 || w.ended[0] != "1: "+peer.ErrDown.Error() {
		t.Fatalf("%d calls failed, the first of them %s", len(w.ended), w.ended[0])
	}
	for i, text := range w.ended {
		if !strings.HasPrefix(text, fmt.Sprint(i+1, ":")) {
			t.Fatalf("call %s failed as number %d", text, i)
		}
	}
}

func TestAReplyThatCannotBeReadEndsTheConnection(t *testing.T) {
	for name, reply := range map[string][]byte{
		"nothing": {}, "half a header": {0, 0}, "a header alone": {0, 0, 0, 1}, "half a reply": {0, 0, 0, 1, 0, 0, 0},
	} {
		w, c := standing(t, 1)
		w.call(2, 1)
		c.receive(reply)
		if len(w.ended) != 1 || w.ended[0] == "1: 0" || !c.closed {
			t.Errorf("%s: calls %q, closed %v", name, w.ended, c.closed)
		}
		w.want(name, &w.heard, "2 broker down, refused false")
	}
}

func TestANodeThatIsNotTheOneExpectedGetsNoCalls(t *testing.T) {
	theirs := identity(2)
	theirs.ClusterID = "theirs"
	old := identity(2)
	old.MinVersion, old.MaxVersion = 0, 0
	for name, c := range map[string]struct {
		resp *private.HelloResponse
		says []string
	}{
		"another cluster":     {&private.HelloResponse{Node: theirs}, []string{"ours", "theirs"}},
		"another node":        {&private.HelloResponse{Node: identity(3)}, []string{"node 2", "node 3", identity(3).Incarnation.String()}},
		"another version":     {&private.HelloResponse{Node: old}, []string{"0 to 0"}},
		"it refuses this one": {&private.HelloResponse{Node: identity(2), ErrorCode: int16(kerr.InconsistentClusterID), Message: new("not you")}, []string{"not you"}},
		"a code without text": {&private.HelloResponse{Node: identity(2), ErrorCode: int16(kerr.UnsupportedVersion)}, []string{kerr.UnsupportedVersion.Error()}},
	} {
		w := newWorld(t, 1)
		w.know("image", 2)
		w.call(2, 1)
		for range 3 {
			w.last().open()
			w.last().answer(0, c.resp)
			if !w.last().closed || len(w.last().frames) != 1 {
				t.Errorf("%s: %d frames went out, closed %v", name, len(w.last().frames), w.last().closed)
			}
			w.pass(5 * time.Second)
		}
		w.want(name, &w.ended, "1: "+peer.ErrDown.Error())
		w.want(name, &w.heard)
		text := w.log.String()
		for _, part := range c.says {
			if !strings.Contains(text, part) {
				t.Errorf("%s: the log %q does not name %q", name, text, part)
			}
		}
		if n := strings.Count(text, "\n"); n != 1 {
			t.Errorf("%s: it is said %d times", name, n)
		}
	}
}

func TestATracedCallTakesItsTraceAlong(t *testing.T) {
	w, c := standing(t, 1)
	cause := trace.Context{Trace: 0x1122, Span: 0x33}
	req := kmsg.NewPtrBrokerHeartbeatRequest()
	w.dir.SendCaused(cause, 2, &peer.Call{Link: peer.Broker, Body: req, Done: func(kmsg.Response, error) {}})
	w.settle()
	h, _ := c.request(1)
	value, _ := h.Tags.Get(private.TraceTag)
	// The trace is the caller's; the span that caused the request is the handling of the call.
	if got := trace.ReadContext(value); got.Trace != cause.Trace || got.Span == cause.Span || got.Span == 0 {
		t.Fatalf("the header says %+v in %+v", got, h.Tags)
	}
}

func TestAnActorThatPanicsFailsItsCallsReportsItsLinksAndBeginsAnew(t *testing.T) {
	w, c := standing(t, 1)
	w.call(2, 1)
	w.call(2, 2, func(c *peer.Call) { c.Done = func(kmsg.Response, error) { panic("boom") } })
	c.answer(2, heartbeat(0))
	w.want("calls", &w.ended, "1: "+peer.ErrDown.Error())
	if !c.closed {
		t.Fatal("the connection of the old incarnation is open")
	}
	w.pass(time.Second)
	w.want("watcher", &w.heard, "2 broker down, refused false")
	w.last().stand(2)
	w.want("watcher", &w.heard, "2 broker up, directory 2")
	w.call(2, 3)
	w.last().answer(1, heartbeat(0))
	w.want("calls", &w.ended, "3: 0")
}
