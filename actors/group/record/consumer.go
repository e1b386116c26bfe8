package record

import (
	"encoding/binary"
	"fmt"
	"math"

	"troupe/actors/coordinator"
	"troupe/codec/flexible"
)

// Kind is what a record says of a group of the consumer protocol (KIP-848): the type of its key.
type Kind int16

// The kinds, with the value that each has and what its key names beside the group.
const (
	KindGroup        Kind = 3  // *ConsumerGroup
	KindTopics       Kind = 4  // *ConsumerTopics
	KindMember       Kind = 5  // *ConsumerMember, of a member
	KindTarget       Kind = 6  // *ConsumerTarget
	KindMemberTarget Kind = 7  // *ConsumerMemberTarget, of a member
	KindCurrent      Kind = 8  // *ConsumerCurrent, of a member
	KindExpression   Kind = 16 // *ConsumerExpression, of a regular expression
)

// named tells whether the key of a kind has a name after the group.
func (k Kind) named() bool {
	return k == KindMember || k == KindMemberTarget || k == KindCurrent || k == KindExpression
}

// ConsumerKey is the key of a record of a consumer group.
//
//	int16 kind, string group, string name (of KindMember, KindMemberTarget, KindCurrent and KindExpression)
//
// A string is an int16 length and its bytes: whoever takes names from clients refuses what is longer than NameMax.
type ConsumerKey struct {
	Kind  Kind
	Group string
	Name  string // the id of a member, or a regular expression
}

// NameMax is the greatest length of a group's id, a member's id or a regular expression, in bytes.
const NameMax = math.MaxInt16

// Value is one of the pointer types named at the kinds. A value is never changed after it was decoded.
//
//	int16 version (0), then the fields in flexible encoding
type Value interface {
	Kind() Kind
	// fields walks the fields in the order on the wire.
	fields(c *flexible.Coder)
}

// StoreConsumer makes the record of a value. name is that of ConsumerKey.
func StoreConsumer(group, name string, v Value) coordinator.Record {
	c := flexible.Writer(binary.BigEndian.AppendUint16(nil, 0))
	v.fields(c)
	return coordinator.Record{Key: ConsumerKey{v.Kind(), group, name}.append(), Value: c.Buffer()}
}

// DeleteConsumer makes the tombstone of a record.
func DeleteConsumer(k ConsumerKey) coordinator.Record { return coordinator.Record{Key: k.append()} }

func (k ConsumerKey) append() []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(k.Kind))
	b = appendName(b, k.Group)
	if k.Kind.named() {
		b = appendName(b, k.Name)
	}
	return b
}

func appendName(dst []byte, name string) []byte {
	return append(binary.BigEndian.AppendUint16(dst, uint16(len(name))), name...)
}

// fresh gives a value of a kind; nil where the kind is not one of a consumer group.
func (k Kind) fresh() Value {
	switch k {
	case KindGroup:
		return &ConsumerGroup{}
	case KindTopics:
		return &ConsumerTopics{}
	case KindMember:
		return &ConsumerMember{}
	case KindTarget:
		return &ConsumerTarget{}
	case KindMemberTarget:
		return &ConsumerMemberTarget{}
	case KindCurrent:
		return &ConsumerCurrent{}
	case KindExpression:
		return &ConsumerExpression{}
	}
	return nil
}

func decodeConsumer(kind Kind, r coordinator.Record) (Entry, error) {
	key := ConsumerKey{Kind: kind}
	rest, ok := r.Key[2:], true
	if key.Group, rest, ok = name(rest); ok && kind.named() {
		key.Name, rest, ok = name(rest)
	}
	if !ok || len(rest) > 0 {
		return Entry{}, fmt.Errorf("key of a consumer group, type %d: its length is wrong", kind)
	}
	e := Entry{Consumer: &key}
	if r.Value == nil {
		return e, nil
	}
	if err := known(r.Value, 0); err != nil {
		return Entry{}, fmt.Errorf("consumer group %q, type %d: %w", key.Group, kind, err)
	}
	v, c := kind.fresh(), flexible.Reader(r.Value[2:])
	v.fields(c)
	if fault := c.End(); fault != "" {
		return Entry{}, fmt.Errorf("consumer group %q, type %d: %s", key.Group, kind, fault)
	}
	e.Value = v
	return e, nil
}

// name cuts a string off.
func name(b []byte) (s string, rest []byte, ok bool) {
	if len(b) < 2 {
		return "", nil, false
	}
	n := int(int16(binary.BigEndian.Uint16(b)))
	if n < 0 || n > len(b)-2 {
		return "", nil, false
	}
	return string(b[2 : 2+n]), b[2+n:], true
}
