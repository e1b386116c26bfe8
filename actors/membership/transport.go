package membership

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

// transport is the sockets of gossip. Memberlist's own takes 64 KiB of fresh memory for each packet, however small: with
// some forty a second the collector cost more than all else that a node does when it is idle.
type transport struct {
	udp     *net.UDPConn
	tcp     *net.TCPListener
	packets chan *memberlist.Packet
	streams chan net.Conn
	ending  context.Context // is cancelled by end
	end     context.CancelFunc
	loops   sync.WaitGroup
}

// packetMax is the largest that UDP carries.
const packetMax = 64 << 10

// listen opens both sockets at one port; of port 0 the system chooses one.
func listen(at netip.AddrPort) (*transport, error) {
	// A free port of TCP may be taken with UDP.
	for left := 10; ; left-- {
		tcp, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
		if err != nil {
			return nil, err
		}
		udp, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(at.Addr(), uint16(tcp.Addr().(*net.TCPAddr).Port))))
		if err != nil {
			_ = tcp.Close() // nobody was accepted
			if at.Port() == 0 && left > 0 {
				continue
			}
			return nil, err
		}
		t := &transport{udp: udp, tcp: tcp, packets: make(chan *memberlist.Packet), streams: make(chan net.Conn)}
		t.ending, t.end = context.WithCancel(context.Background())
		t.loops.Go(t.receive)
		t.loops.Go(t.accept)
		return t, nil
	}
}

// receive is the goroutine that reads packets.
func (t *transport) receive() {
	buf := make([]byte, packetMax)
	for {
		n, from, err := t.udp.ReadFromUDPAddrPort(buf)
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil || n == 0: // such as a refusal of an earlier packet, which Windows tells here
			continue
		}
		p := &memberlist.Packet{Buf: slices.Clone(buf[:n]), From: net.UDPAddrFromAddrPort(from), Timestamp: time.Now()}
		select {
		case t.packets <- p:
		case <-t.ending.Done():
			return
		}
	}
}

// accept is the goroutine that takes connections: two nodes compare all they know by one.
func (t *transport) accept() {
	for {
		conn, err := t.tcp.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // out of descriptors
			select {
			case <-time.After(100 * time.Millisecond):
				continue
			case <-t.ending.Done():
				return
			}
		}
		t.loops.Go(func() { t.hand(conn) })
	}
}

// hand gives a connection to memberlist once it has a byte. It would take one that ends without any for a stranger's, and is
// itself who makes such: it dials a node whose answer to a probe is late, and hangs up when that comes after all.
func (t *transport) hand(conn net.Conn) {
	ended := context.AfterFunc(t.ending, func() { _ = conn.Close() }) // nothing was written
	defer ended()
	c := &begun{Conn: conn, first: make([]byte, 1)}
	if err := conn.SetReadDeadline(time.Now().Add(streamWithin)); err == nil {
		_, err = io.ReadFull(conn, c.first)
		if err == nil {
			select {
			case t.streams <- c:
				return
			case <-t.ending.Done():
			}
		}
	}
	_ = conn.Close() // nothing was written
}

// begun is a connection of which the first byte has been read.
type begun struct {
	net.Conn
	first []byte
}

func (c *begun) Read(b []byte) (int, error) {
	if len(c.first) == 0 || len(b) == 0 {
		return c.Conn.Read(b)
	}
	n := copy(b, c.first)
	c.first = c.first[n:]
	return n, nil
}

// FinalAdvertiseAddr is what others are told: the address that is listened at, or for all of them a private one of the
// machine (memberlist.Transport).
func (t *transport) FinalAdvertiseAddr(string, int) (net.IP, int, error) {
	at := t.tcp.Addr().(*net.TCPAddr)
	if !at.IP.IsUnspecified() {
		return at.IP, at.Port, nil
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil, 0, err
	}
	for _, fits := range []func(net.IP) bool{net.IP.IsPrivate, net.IP.IsGlobalUnicast} {
		for _, a := range all {
			if n, ok := a.(*net.IPNet); ok && fits(n.IP) {
				return n.IP, at.Port, nil
			}
		}
	}
	return nil, 0, fmt.Errorf("no address of this machine can be told to others, expected one in place of %s", at)
}

// WriteTo is part of memberlist.Transport.
func (t *transport) WriteTo(b []byte, addr string) (time.Time, error) {
	to, err := netip.ParseAddrPort(addr)
	if err == nil {
		_, err = t.udp.WriteToUDPAddrPort(b, to)
	}
	return time.Now(), err
}

// WriteToAddress is part of memberlist.NodeAwareTransport.
func (t *transport) WriteToAddress(b []byte, to memberlist.Address) (time.Time, error) {
	return t.WriteTo(b, to.Addr)
}

// DialTimeout is part of memberlist.Transport.
func (t *transport) DialTimeout(addr string, within time.Duration) (net.Conn, error) {
	return net.DialTimeout("tcp", addr, within)
}

// DialAddressTimeout is part of memberlist.NodeAwareTransport.
func (t *transport) DialAddressTimeout(to memberlist.Address, within time.Duration) (net.Conn, error) {
	return t.DialTimeout(to.Addr, within)
}

// PacketCh is part of memberlist.Transport.
func (t *transport) PacketCh() <-chan *memberlist.Packet { return t.packets }

// StreamCh is part of memberlist.Transport.
func (t *transport) StreamCh() <-chan net.Conn { return t.streams }

// Shutdown ends both goroutines (memberlist.Transport).
func (t *transport) Shutdown() error {
	if t.ending.Err() != nil {
		return nil
	}
	t.end()
	err := errors.Join(t.udp.Close(), t.tcp.Close())
	t.loops.Wait()
	return err
}
