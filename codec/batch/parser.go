package batch

import (
	"encoding/binary"

	"troupe/internal/model"
)

// parser takes fields of a flexible message from the front of b. After a field that is not wholly there it only gives
// zeros, and short says so.
type parser struct {
	b     []byte
	short bool
}

// take gives n bytes, or nothing when they are not there; a length of -1, which stands for null, is not there either.
func (p *parser) take(n int) []byte {
	if n < 0 || n > len(p.b) {
		p.b, p.short = nil, true
		return nil
	}
	taken := p.b[:n]
	p.b = p.b[n:]
	return taken
}

func (p *parser) int16() int16 {
	if b := p.take(2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (p *parser) int32() int32 {
	if b := p.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (p *parser) int64() int64 {
	if b := p.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// uuid stays zero when it is cut off, like every field.
func (p *parser) uuid() (u model.UUID) {
	copy(u[:], p.take(len(u)))
	return u
}

// uvarint reads a length or count: five bytes at most, and no more than an int32, as in Kafka's ByteUtils.
func (p *parser) uvarint() int {
	v, n := binary.Uvarint(p.b[:min(len(p.b), binary.MaxVarintLen32)])
	if n <= 0 || v > 1<<31-1 {
		p.take(-1)
		return 0
	}
	p.take(n)
	return int(v)
}

// count reads the length of an array whose elements take at least the given bytes, so that none is believed which
// cannot be there. Null reads as 0.
func (p *parser) count(least int) int {
	n := p.uvarint() - 1
	if n > len(p.b)/least {
		p.take(-1)
		return 0
	}
	return max(n, 0)
}

// text reads a compact string: its length plus one, then the bytes (KIP-482).
func (p *parser) text() string { return string(p.take(p.uvarint() - 1)) }

// tags passes over the tagged fields of a struct; none is known here.
func (p *parser) tags() {
	for range p.uvarint() {
		if p.short {
			return
		}
		p.uvarint()
		p.take(p.uvarint())
	}
}

// quorumVoters reads the voters of a LEADER_CHANGE record: id int32, directory id from version 1 on (KIP-853), tags.
func (p *parser) quorumVoters(version int16) []QuorumVoter {
	voters := make([]QuorumVoter, p.count(5))
	for i := range voters {
		voters[i].ID = model.BrokerID(p.int32())
		if version >= 1 {
			voters[i].DirectoryID = p.uuid()
		}
		p.tags()
	}
	return voters
}

// voters reads a VOTERS record (KIP-853): id, directory id, endpoints (name, host, port), range of kraft.version. A voter
// takes 27 bytes at least: 4 + 16 + 1 + 2 · 2 and two empty sections of tags.
func (p *parser) voters() []Voter {
	voters := make([]Voter, p.count(27))
	for i := range voters {
		v := &voters[i]
		v.ID = model.BrokerID(p.int32())
		v.DirectoryID = p.uuid()
		v.Endpoints = make([]VoterEndpoint, p.count(5))
		for j := range v.Endpoints {
			v.Endpoints[j] = VoterEndpoint{Name: p.text(), Host: p.text(), Port: uint16(p.int16())}
			p.tags()
		}
		v.LeastKRaftVersion, v.MostKRaftVersion = p.int16(), p.int16()
		p.tags()
		p.tags()
	}
	return voters
}
