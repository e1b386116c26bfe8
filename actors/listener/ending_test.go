package listener

import (
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/configs"
)

func TestAPeerThatDoesNotReadIsCutOffByTheSweep(t *testing.T) {
	w := newWorld(t)
	_, c := w.connect()
	p, _ := c.take(on(1), 1)
	p.Ready(text(strings.Repeat("x", 64<<20))) // more than all buffers between here and the peer
	q, _ := c.take(on(2), 2)
	d := &poll{deadline: w.clock.Now().Add(24 * time.Hour)}
	q.ReadyLater(d)
	w.eventually("the writer writes", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.unsent
	})
	w.clock.Advance(2 * w.deps.IdleMax)
	w.eventually("the connection is closed", func() bool { return len(w.deps.all("PLAINTEXT")) == 0 })
	w.ends(d, 0, 1)
}

func TestIdleIsCountedFromTheLastRequest(t *testing.T) {
	w := newWorld(t)
	client, _ := w.connect()
	ask := kmsg.NewRequestFormatter().AppendRequest(nil, kmsg.NewPtrApiVersionsRequest(), 1)
	for range 5 {
		w.clock.Advance(w.deps.IdleMax * 3 / 4)
		if _, err := client.Write(ask); err != nil {
			t.Fatal(err)
		}
		readReply(t, client)
	}
	w.clock.Advance(2 * w.deps.IdleMax)
	expectClosed(t, client)
}

func TestWorkForAConnectionThatIsGoneIsLetGoWhenItCompletes(t *testing.T) {
	w := newWorld(t)
	client, c := w.connect()
	var taken []*pending
	for i := range int32(4) {
		p, _ := c.take(on(uint64(i)), i)
		taken = append(taken, p)
	}
	taken[1].Ready(text("in time, but not its turn"))
	client.Close()
	w.eventually("the connection is gone", func() bool { return len(w.deps.all("PLAINTEXT")) == 0 })
	if got := w.deps.Credits.Used(); got != 3*requestSize {
		t.Errorf("credits of %d bytes are held, want those of the three that are worked on", got)
	}
	taken[0].Ready(text("x"))
	taken[2].Nothing()
	d := &poll{}
	taken[3].ReadyLater(d)
	w.ends(d, 0, 1)
}

func TestAHandlerThatPanicsCostsItsConnectionOnly(t *testing.T) {
	w := newWorld(t)
	w.deps.Node.Images = nil // Metadata needs it
	client, _ := w.connect()
	other, _ := w.connect()
	if _, err := client.Write(kmsg.NewRequestFormatter().AppendRequest(nil, kmsg.NewPtrMetadataRequest(), 1)); err != nil {
		t.Fatal(err)
	}
	expectClosed(t, client)
	if _, err := other.Write(kmsg.NewRequestFormatter().AppendRequest(nil, kmsg.NewPtrApiVersionsRequest(), 7)); err != nil {
		t.Fatal(err)
	}
	if got, _ := readReply(t, other); got != 7 {
		t.Errorf("reply %d", got)
	}
	w.nothingHeld()
}

// The reply that fails to be made is the writer's.
type broken struct{}

func (broken) AppendTo([]byte) []byte { panic("no such reply") }

func TestAReplyThatPanicsCostsItsConnectionOnly(t *testing.T) {
	w := newWorld(t)
	client, c := w.connect()
	var taken []*pending
	for i := range int32(3) {
		p, _ := c.take(on(uint64(i)), i)
		taken = append(taken, p)
	}
	taken[2].Ready(text("x"))
	taken[1].Ready(broken{})
	taken[0].Ready(text("x"))
	for {
		if err := client.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Read(make([]byte, 64)); err != nil {
			break
		}
	}
	w.nothingHeld()
}

func TestWithoutAcksAnErrorClosesTheConnectionAfterTheRepliesBefore(t *testing.T) {
	w := newWorld(t)
	client, _ := w.connect()
	formatter := kmsg.NewRequestFormatter()
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks = 9, 0
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic = "nobody-made-it"
	topic.Partitions = append(topic.Partitions, kmsg.NewProduceRequestTopicPartition())
	req.Topics = append(req.Topics, topic)
	out := slices.Concat(formatter.AppendRequest(nil, kmsg.NewPtrApiVersionsRequest(), 1),
		formatter.AppendRequest(nil, req, 2), formatter.AppendRequest(nil, kmsg.NewPtrApiVersionsRequest(), 3))
	if _, err := client.Write(out); err != nil {
		t.Fatal(err)
	}
	if got, _ := readReply(t, client); got != 1 {
		t.Errorf("reply %d, want that of the first request", got)
	}
	expectClosed(t, client)
	w.nothingHeld()
}

func TestWhatIsNotKafkaEndsTheConnection(t *testing.T) {
	unknown := kmsg.NewRequestFormatter().AppendRequest(nil, kmsg.NewPtrApiVersionsRequest(), 1)
	unknown[4], unknown[5] = 0x7f, 0x7f // the API key
	cut := kmsg.NewRequestFormatter().AppendRequest(nil, kmsg.NewPtrMetadataRequest(), 1)
	cut = cut[:len(cut)-2]
	cut[3] -= 2 // the size
	for title, bytes := range map[string][]byte{
		"HTTP": []byte("GET / HTTP/1.1\r\n\r\n"), "TLS": {0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc}, "a size of zero": {0, 0, 0, 0},
		"a header that ends early": {0, 0, 0, 3, 0, 18, 0}, "an unknown API": unknown, "a body that ends early": cut,
	} {
		t.Run(title, func(t *testing.T) {
			w := newWorld(t)
			client, _ := w.connect()
			if _, err := client.Write(bytes); err != nil {
				t.Fatal(err)
			}
			expectClosed(t, client)
			w.nothingHeld()
		})
	}
}

func TestADrainedConnectionHasAnsweredWhatItHadRead(t *testing.T) {
	w := newWorld(t)
	client, c := w.connect()
	idle, quiet := w.connect()
	p, _ := c.take(on(1), 1)
	q, _ := c.take(on(2), 2)
	d := &poll{deadline: w.clock.Now().Add(24 * time.Hour)}
	q.ReadyLater(d)
	for _, one := range []*conn{c, quiet} {
		one.drain()
	}
	expectClosed(t, idle)
	p.Ready(text("x"))
	for i := range int32(2) {
		if got, _ := readReply(t, client); got != i+1 {
			t.Errorf("reply %d", got)
		}
	}
	expectClosed(t, client)
	w.nothingHeld()
}

func TestAConnectionBeyondTheLimitIsClosedAndCountsNot(t *testing.T) {
	w := newWorld(t)
	limits := w.deps.Limits()
	limits.ConnectionsMax = 1
	w.deps.Limits = func() *configs.Socket { return limits }
	w.connect()
	refused, err := net.Dial("tcp", w.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer refused.Close()
	expectClosed(t, refused)
	w.nothingHeld()
}
