package wire

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Versioned sets a request's version and returns it.
func Versioned[R kmsg.Request](req R, version int16) R {
	req.SetVersion(version)
	return req
}

// Ask sends one request on a connection of its own and returns the reply in its own type.
func Ask[Resp kmsg.Response](t testing.TB, address string, req kmsg.Request) Resp {
	t.Helper()
	return On[Resp](Dial(t, address), req)
}

// On is Ask on a connection that is there already.
func On[Resp kmsg.Response](c *Conn, req kmsg.Request) Resp {
	c.t.Helper()
	return c.Call(req).(Resp)
}
