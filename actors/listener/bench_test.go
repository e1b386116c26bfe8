package listener

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"testing"

	"troupe/internal/clock"
)

// request is a ListOffsets of version 1 about no partition: header, replica, and no topics. It costs what every request does.
var request = []byte{
	0, 0, 0, 19, // size
	0, 2, 0, 1, 0, 0, 0, 9, 0, 1, 'b', // key, version, correlation, client id
	255, 255, 255, 255, 0, 0, 0, 0,
}

// BenchmarkRequests sends requests over TCP, one after the other and 32 in flight.
func BenchmarkRequests(b *testing.B) {
	for _, c := range []struct {
		name     string
		inFlight int
	}{{"one at a time", 1}, {"32 in flight", 32}} {
		b.Run(c.name, func(b *testing.B) {
			w := newWorld(b)
			w.deps.Node.Clock = clock.System()
			w.deps.Observe = w.deps.Node.Stats.Observe
			client, err := net.Dial("tcp", w.addr)
			if err != nil {
				b.Fatal(err)
			}
			defer client.Close()
			var many []byte
			for range c.inFlight {
				many = append(many, request...)
			}
			replies := bufio.NewReader(client)
			b.ReportAllocs()
			b.ResetTimer()
			for done := 0; done < b.N; done += c.inFlight {
				if _, err := client.Write(many); err != nil {
					b.Fatal(err)
				}
				for range c.inFlight {
					skipReply(b, replies)
				}
			}
		})
	}
}

func skipReply(b *testing.B, from *bufio.Reader) {
	b.Helper()
	var size [4]byte
	if _, err := io.ReadFull(from, size[:]); err != nil {
		b.Fatal(err)
	}
	if _, err := from.Discard(int(binary.BigEndian.Uint32(size[:]))); err != nil {
		b.Fatal(err)
	}
}
