package peer_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"strconv"
	"testing"
	"time"

	"troupe/actors/kit"
	"troupe/actors/peer"
)

// patience is for what other goroutines do; a test that uses it up has failed.
const patience = 30 * time.Second

// journal is the Events of a connection, for a test that waits for them in order.
type journal struct {
	events chan string
	frames chan []byte
	ended  chan error
}

func newJournal() *journal {
	return &journal{make(chan string, 100), make(chan []byte, 100), make(chan error, 2)}
}

func (j *journal) Opened()                        { j.events <- "opened" }
func (j *journal) Received(_ *kit.Turn, b []byte) { j.frames <- b }
func (j *journal) Closed(err error)               { j.ended <- err }

func next[T any](t *testing.T, from chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(patience):
		t.Fatal("nothing happens")
	}
	return v
}

// listen gives a server's socket and its address.
func listen(t *testing.T) (net.Listener, peer.Address) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, peer.Address{Host: "127.0.0.1", Port: uint16(l.Addr().(*net.TCPAddr).Port)}
}

func tcp(log io.Writer) *peer.TCP {
	return &peer.TCP{Log: slog.New(slog.NewTextHandler(log, nil)), FrameMax: 8 << 20}
}

// pair gives both ends of a connection.
func pair(t *testing.T) (peer.Conn, *journal, *net.TCPConn) {
	t.Helper()
	l, at := listen(t)
	j := newJournal()
	c := tcp(io.Discard).Dial(at, j)
	t.Cleanup(func() { c.Close() })
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	if e := next(t, j.events); e != "opened" {
		t.Fatal(e)
	}
	return c, j, server.(*net.TCPConn)
}

// sized puts the size in front of a frame.
func sized(b []byte) []byte { return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...) }

func TestFramesGoOutInOrderAndComeInWhole(t *testing.T) {
	c, j, server := pair(t)
	const frames = 1000
	for n := range frames {
		c.Write(sized([]byte(strconv.Itoa(n))))
	}
	for n := range frames {
		var size [4]byte
		if _, err := io.ReadFull(server, size[:]); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(server, b); err != nil || string(b) != strconv.Itoa(n) {
			t.Fatalf("frame %d is %q, %v", n, b, err)
		}
	}
	small, large := []byte("small"), bytes.Repeat([]byte("0123456789abcdef"), 1<<18) // 4 MiB
	go func() {
		for _, b := range [][]byte{small, large, small} {
			for part := sized(b); len(part) > 0; part = part[min(len(part), 999_999):] {
				if _, err := server.Write(part[:min(len(part), 999_999)]); err != nil {
					t.Error(err)
				}
			}
		}
	}()
	for _, want := range [][]byte{small, large, small} {
		got := next(t, j.frames)
		if !bytes.Equal(got, want) {
			t.Fatalf("a frame of %d bytes came, want %d", len(got), len(want))
		}
		if cap(got) > len(want)+len(want)/8+64 {
			t.Errorf("a frame of %d bytes holds %d", len(want), cap(got))
		}
	}
}

// A socket takes some megabytes at once here; what is left over goes out behind them, and what is written meanwhile behind that.
func TestWhatTheSocketDoesNotTakeAtOnceKeepsItsPlace(t *testing.T) {
	c, _, server := pair(t)
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // 1 MiB
	const frames = 64
	for n := range frames {
		c.Write(sized(append([]byte{byte(n)}, large...)))
		c.Write(sized([]byte{byte(n)}))
	}
	for n := range 2 * frames {
		var size [4]byte
		if _, err := io.ReadFull(server, size[:]); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(server, b); err != nil || b[0] != byte(n/2) || n%2 == 0 && !bytes.Equal(b[1:], large) || n%2 == 1 && len(b) != 1 {
			t.Fatalf("frame %d has %d bytes and begins with %d, %v", n, len(b), b[0], err)
		}
	}
}

func TestAConnectionEndsOnceWhoeverEndsIt(t *testing.T) {
	for title, end := range map[string]func(c peer.Conn, server *net.TCPConn){
		"the other end closes": func(_ peer.Conn, s *net.TCPConn) { s.Close() },
		"it is reset":          func(_ peer.Conn, s *net.TCPConn) { s.SetLinger(0); s.Close() },
		"it is closed here":    func(c peer.Conn, _ *net.TCPConn) { c.Close(); c.Close() },
		"a frame of no size":   func(_ peer.Conn, s *net.TCPConn) { s.Write(make([]byte, 4)) },
		"a frame too large to begin with": func(_ peer.Conn, s *net.TCPConn) {
			s.Write(binary.BigEndian.AppendUint32(nil, 1<<20))
		},
		"a frame too large": func(_ peer.Conn, s *net.TCPConn) {
			s.Write(sized([]byte("first")))
			s.Write(binary.BigEndian.AppendUint32(nil, 1<<30))
		},
		"within a frame": func(_ peer.Conn, s *net.TCPConn) { s.Write([]byte{0, 0, 0, 9, 1}); s.CloseWrite() },
	} {
		t.Run(title, func(t *testing.T) {
			c, j, server := pair(t)
			end(c, server)
			if err := next(t, j.ended); err == nil || errors.Is(err, peer.ErrRefused) {
				t.Errorf("ended with %v", err)
			}
			c.Write(sized([]byte("lost")))
			c.Close()
			if len(j.ended) != 0 {
				t.Error("ended twice")
			}
		})
	}
}

func TestADialThatIsRefusedIsToldApart(t *testing.T) {
	l, at := listen(t)
	l.Close()
	j := newJournal()
	tcp(io.Discard).Dial(at, j)
	if err := next(t, j.ended); !errors.Is(err, peer.ErrRefused) || len(j.events) != 0 {
		t.Fatalf("ended with %v", err)
	}
}

func TestADialThatIsGivenUpEnds(t *testing.T) {
	j := newJournal()
	c := tcp(io.Discard).Dial(peer.Address{Host: "192.0.2.1", Port: 9}, j) // reserved for documentation: nobody answers
	c.Close()
	if err := next(t, j.ended); err == nil || len(j.events) != 0 {
		t.Fatalf("ended with %v", err)
	}
}

func TestWritingToAPeerThatReadsNothingHoldsNobodyUp(t *testing.T) {
	c, j, _ := pair(t)
	large := make([]byte, 1<<20)
	written := make(chan struct{})
	go func() {
		for range 64 { // more than the system's buffers take
			c.Write(sized(large))
		}
		close(written)
	}()
	next(t, written)
	c.Close()
	next(t, j.ended)
}

// panicking fails on what it hears.
type panicking struct{ *journal }

func (p *panicking) Received(*kit.Turn, []byte) { panic("boom") }

func TestAPanicEndsTheConnectionAndNotTheProcess(t *testing.T) {
	l, at := listen(t)
	var log bytes.Buffer
	j := &panicking{journal: newJournal()}
	tcp(&log).Dial(at, j)
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if _, err := server.Write(sized([]byte("frame"))); err != nil {
		t.Fatal(err)
	}
	if err := next(t, j.ended); err == nil || !bytes.Contains(log.Bytes(), []byte("boom")) {
		t.Fatalf("ended with %v, logged %q", err, log.String())
	}
}
