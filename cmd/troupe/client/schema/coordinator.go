package schema

import (
	"encoding/binary"
	"errors"
)

// Coordinated is a record of a coordinator's log: a key begins with the number of its record, a value with its version.
type Coordinated struct {
	Type    int16
	Key     Object
	Version int16
	Value   Object // nil of a tombstone
	// Message is the name of the value's schema.
	Message string
}

// ErrUnknownType says that a log has a record of a type that came later, which may be skipped (KIP-915). Of such a record
// Type alone is read.
var ErrUnknownType = errors.New("unknown record type")

// ReadCoordinated reads a record by its key and value; a nil value is a tombstone.
func ReadCoordinated(keys, values Kind, key, value []byte) (c Coordinated, err error) {
	if len(key) < 2 || value != nil && len(value) < 2 {
		return c, errors.New("the record is cut off")
	}
	c.Type = int16(binary.BigEndian.Uint16(key))
	keySchema, valueSchema := Numbered(keys, int(c.Type)), Numbered(values, int(c.Type))
	if keySchema == nil || valueSchema == nil {
		return c, ErrUnknownType
	}
	c.Message = valueSchema.Name
	if c.Key, err = keySchema.Read(0, key[2:]); err != nil || value == nil {
		return c, err
	}
	c.Version = int16(binary.BigEndian.Uint16(value))
	c.Value, err = valueSchema.Read(c.Version, value[2:])
	return c, err
}
