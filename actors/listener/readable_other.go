//go:build !unix

package listener

import "net"

// readable reads into a buffer at once: this system has no way to wait without one.
type readable struct{ conn net.Conn }

// newSource keeps to what every platform has: a buffer is held while the connection waits.
func newSource(c net.Conn) (source, error) { return &readable{c}, nil }

func (r *readable) ReadInto(b buffers) (int, error) { return r.conn.Read(b.room()) }
