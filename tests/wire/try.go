package wire

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Try is Ask of a broker that may be gone, hung or cut off: all that can go wrong within the time is an error.
func Try[Resp kmsg.Response](address string, req kmsg.Request, within time.Duration) (Resp, error) {
	var none Resp
	deadline := time.Now().Add(within)
	socket, err := net.DialTimeout("tcp", address, within)
	if err != nil {
		return none, err
	}
	defer socket.Close()
	if err := socket.SetDeadline(deadline); err != nil {
		return none, err
	}
	if _, err := socket.Write(Frame(1, req)); err != nil {
		return none, err
	}
	var head [8]byte // size and correlation id
	if _, err := io.ReadFull(socket, head[:]); err != nil {
		return none, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n < 4 || n > 1<<30 {
		return none, fmt.Errorf("a reply of %d bytes", n)
	}
	body := make([]byte, n-4)
	if _, err := io.ReadFull(socket, body); err != nil {
		return none, err
	}
	resp, err := Decode(req, body)
	if err != nil {
		return none, err
	}
	return resp.(Resp), nil
}
