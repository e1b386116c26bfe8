package api

import (
	"troupe/partitionlog"
)

// Payload is an encoded reply body with file regions in it, which the connection sends without copying them through
// the heap where it can.
type Payload struct {
	// Bytes are the encoded parts in order; Holes say where regions stand between them.
	Bytes []byte
	Holes []Hole
	// Sent is called once when the payload has been written or given up, to release what it pins.
	Sent func()
}

// Hole is a place in Payload.Bytes where a region's bytes belong.
type Hole struct {
	At     int // index into Bytes before which the region stands
	Region partitionlog.Region
}

// Len is the length of the whole body.
func (p *Payload) Len() int64 {
	n := int64(len(p.Bytes))
	for _, h := range p.Holes {
		n += h.Region.Len
	}
	return n
}
