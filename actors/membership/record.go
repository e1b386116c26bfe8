package membership

import (
	"encoding/binary"
	"errors"
	"fmt"

	"troupe/internal/model"
)

// Record is what a node tells of itself with each message about it. Its form, numbers big-endian:
//
//	version      uint8, 1
//	roles        uint8: 1 broker, 2 controller
//	node id      int32
//	directory    16 bytes: that of the metadata log
//	incarnation  16 bytes: the process
//	cluster id   text; empty on a node that belongs to none yet
//	controller   text host, uint16 port; an empty host: none
//	broker       text host, uint16 port; likewise
//	rack         text; empty: none
//
// A text is its length in a uint8 and its bytes. What follows the rack is of a later software, and is passed over.
type Record struct {
	ClusterID   string
	NodeID      model.BrokerID
	Directory   model.DirectoryID
	Incarnation model.UUID
	// Controller and Broker are where other nodes reach it.
	Controller, Broker Address
	Rack               string
	// Votes and Serves are the roles: a controller, a broker.
	Votes, Serves bool
}

// recordVersion is that of another form, which an older software cannot read; what is appended changes nothing of it.
const recordVersion = 1

// recordMax is what memberlist has room for beside a node's name (MetaMaxSize).
const recordMax = 512

const (
	serves = 1 << iota
	votes
)

// Append gives the record's bytes. Error: more than memberlist takes, or a text of more than 255 bytes.
func (r *Record) Append(b []byte) ([]byte, error) {
	start := len(b)
	var roles uint8
	if r.Serves {
		roles |= serves
	}
	if r.Votes {
		roles |= votes
	}
	b = append(b, recordVersion, roles)
	b = binary.BigEndian.AppendUint32(b, uint32(r.NodeID))
	b = append(b, r.Directory[:]...)
	b = append(b, r.Incarnation[:]...)
	var long bool
	text := func(s string) {
		long = long || len(s) > 255
		b = append(append(b, uint8(len(s))), s...)
	}
	text(r.ClusterID)
	for _, a := range []Address{r.Controller, r.Broker} {
		text(a.Host)
		b = binary.BigEndian.AppendUint16(b, a.Port)
	}
	text(r.Rack)
	if n := len(b) - start; long || n > recordMax {
		return nil, fmt.Errorf("what this node tells of itself takes %d bytes, %d are the most: its host names and its rack are too long", n, recordMax)
	}
	return b, nil
}

var errRecord = errors.New("the record of the node is cut short")

// parse reads a record. Nothing in it was checked but its form.
func parse(b []byte) (Record, error) {
	switch {
	case len(b) > recordMax:
		return Record{}, fmt.Errorf("the record of the node has %d bytes, %d are the most", len(b), recordMax)
	case len(b) < 1:
		return Record{}, errRecord
	case b[0] != recordVersion:
		return Record{}, fmt.Errorf("the record of the node has version %d, expected %d", b[0], recordVersion)
	}
	in := reader{rest: b[1:]}
	roles := in.take(1)[0]
	r := Record{Serves: roles&serves != 0, Votes: roles&votes != 0}
	r.NodeID = model.BrokerID(binary.BigEndian.Uint32(in.take(4)))
	copy(r.Directory[:], in.take(16))
	copy(r.Incarnation[:], in.take(16))
	r.ClusterID = in.text()
	for _, a := range []*Address{&r.Controller, &r.Broker} {
		a.Host = in.text()
		a.Port = binary.BigEndian.Uint16(in.take(2))
	}
	r.Rack = in.text()
	switch {
	case in.short:
		return Record{}, errRecord
	case r.NodeID < 0:
		return Record{}, fmt.Errorf("the record of the node has the node.id %d", r.NodeID)
	}
	return r, nil
}

// reader cuts fields off a record. Beyond its end it gives zeros, and remembers that.
type reader struct {
	rest  []byte
	short bool
}

func (r *reader) take(n int) []byte {
	if len(r.rest) < n {
		r.short, r.rest = true, nil
		return make([]byte, n)
	}
	field := r.rest[:n]
	r.rest = r.rest[n:]
	return field
}

func (r *reader) text() string { return string(r.take(int(r.take(1)[0]))) }
