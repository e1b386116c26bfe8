package listener

import (
	"fmt"
	"math"
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/api"
	"troupe/actors/trace"
	"troupe/codec/frame"
	"troupe/codec/private"
)

// apiVersionsKey is answered at any version: that is how a client finds out what this broker speaks (KIP-511).
const apiVersionsKey = 18

// handlerOf finds who answers a request. What nobody answers closes the connection: a reply of an unknown form would
// not be understood (measured, facts/README.md).
func (c *conn) handlerOf(key, version int16) (*api.Handler, error) {
	h, here := api.Lookup(key, c.client)
	switch {
	case h == nil || !here:
		return nil, fmt.Errorf("request with API key %d, which this listener does not answer", key)
	case !h.Supports(version) && key != apiVersionsKey:
		return nil, fmt.Errorf("%s request of version %d; versions %d to %d are answered", h.Name, version, h.Min, h.Max)
	}
	return h, nil
}

// decode makes the request of a frame. Unless the handler keeps the bytes, the chunk is let go here.
func (c *conn) decode(p *pending, h *frame.RequestHeader, body []byte) (*api.Request, error) {
	req := newRequest(p.handler.Key)
	clientID := string(h.ClientID)            // it lies in the chunk
	unknown := !p.handler.Supports(p.version) // ApiVersions: the body's form is not known
	if unknown {
		p.version = 0
	} else {
		req.SetVersion(p.version)
		if !p.handler.Retains {
			body = append([]byte(nil), body...)
			p.chunk.release()
			p.chunk = nil
		}
		if err := req.ReadFrom(body); err != nil {
			return nil, fmt.Errorf("malformed %s request of version %d: %w", p.handler.Name, p.version, err)
		}
		if len(body) > longestString && req.IsFlexible() && !p.handler.Retains && hasLongString(reflect.ValueOf(req)) {
			return nil, fmt.Errorf("%s request of version %d with a string of more than %d bytes", p.handler.Name, p.version, longestString)
		}
	}
	p.between = c.client.Peer != nil
	p.span = c.deps.Trace.Continue(c.causeOf(h), c.name, p.handler.Name)
	p.request = *api.NewRequest(api.Arrival{
		Handler: p.handler, Version: p.version, Unsupported: unknown, ClientID: clientID, Body: req,
		Client: c.client, Received: p.received, Cause: p.span.Context(), Slot: p, Turn: &c.turn,
	})
	return &p.request, nil
}

// causeOf gives the trace that a request of another node goes on with. Clients' tags mean nothing here.
func (c *conn) causeOf(h *frame.RequestHeader) trace.Context {
	if c.client.Peer == nil {
		return trace.Context{}
	}
	cause, _ := h.Tags.Get(private.TraceTag)
	return trace.ReadContext(cause)
}

// newRequest makes the empty request of a key that has a handler.
func newRequest(key int16) kmsg.Request {
	if key >= frame.FirstPrivate {
		return private.NewRequest(key)
	}
	return kmsg.RequestForKey(key)
}

// longestString is the longest that Kafka takes, in the compact form too, which could hold more: what is recorded of a
// request has two bytes for the length.
const longestString = math.MaxInt16

// hasLongString looks at all strings of a request. Only large ones are looked at, and none whose payload is large by
// nature (Retains), so that it costs no usual request anything.
func hasLongString(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return v.Len() > longestString
	case reflect.Pointer:
		return !v.IsNil() && hasLongString(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if hasLongString(v.Field(i)) {
				return true
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return false
		}
		for i := range v.Len() {
			if hasLongString(v.Index(i)) {
				return true
			}
		}
	}
	return false
}
