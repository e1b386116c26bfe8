// Package record encodes the records of the metadata log exactly as Kafka 4.3 does (facts/records.md, "Metadata log").
//
// A record is the value of a batch record without a key:
//
//	frame version  unsigned varint   1
//	api key        unsigned varint   which record (see Key)
//	version        unsigned varint   which fields of it exist
//	fields …                         flexible encoding: compact lengths, tagged fields last
//
// A Record is never changed after it was built or decoded: images and logs share its slices.
package record

import (
	"encoding/binary"
	"errors"
	"fmt"

	"troupe/codec/flexible"
)

// frameVersion is the only framing of metadata records that exists (KIP-631).
const frameVersion = 1

// ErrVersion means that a record of this kind cannot be written at the asked version.
var ErrVersion = errors.New("metadata record version out of range")

// Record is one of the pointer types of this package.
type Record interface {
	// Key is the record's api key.
	Key() Key
	// fields walks the fields in wire order; the coder reads or writes them.
	fields(c *flexible.Coder, version int16)
}

// Append encodes r as the newest version that the metadata version allows.
func Append(dst []byte, r Record, level MetadataVersion) ([]byte, error) {
	return AppendVersion(dst, r, VersionAt(r.Key(), level))
}

// AppendVersion encodes r as the given version. Fields that do not exist there are left out, as Kafka does with fields
// it marks ignorable; the controller does not produce them below the metadata version that brought them.
func AppendVersion(dst []byte, r Record, version int16) ([]byte, error) {
	key := r.Key()
	if version < 0 || version > key.maxVersion() {
		return dst, fmt.Errorf("%w: %s version %d, known are 0 to %d", ErrVersion, key, version, key.maxVersion())
	}
	dst = binary.AppendUvarint(dst, frameVersion)
	dst = binary.AppendUvarint(dst, uint64(key))
	dst = binary.AppendUvarint(dst, uint64(version))
	c := flexible.Writer(dst)
	r.fields(c, version)
	return c.Buffer(), nil
}

// Decode reads one record, the whole of b.
// Errors: *UnknownError for a kind or version this build does not know, *CorruptError for bytes that do not parse.
func Decode(b []byte) (Record, error) {
	r, _, err := DecodeVersion(b)
	return r, err
}

// DecodeVersion is Decode that also tells the version the record was written in.
func DecodeVersion(b []byte) (Record, int16, error) {
	var header [3]uint64
	rest := b
	for i := range header {
		v, n := binary.Uvarint(rest)
		if n <= 0 || v > 1<<15-1 {
			return nil, 0, &CorruptError{Key: -1, Reason: "the frame is cut short or out of range"}
		}
		header[i], rest = v, rest[n:]
	}
	key, version := Key(header[1]), int16(header[2])
	if header[0] != frameVersion {
		return nil, 0, &CorruptError{Key: key, Version: version, Reason: fmt.Sprintf("frame version %d, known is %d", header[0], frameVersion)}
	}
	r := key.fresh()
	if r == nil || version > key.maxVersion() {
		return nil, 0, &UnknownError{Key: key, Version: version}
	}
	c := flexible.Reader(rest)
	r.fields(c, version)
	if fault := c.End(); fault != "" {
		return nil, 0, &CorruptError{Key: key, Version: version, Reason: fault}
	}
	return r, version, nil
}

// UnknownError is a record that a newer software wrote: the node must not go on, since it would build a wrong image.
type UnknownError struct {
	Key     Key
	Version int16
}

// Error names both versions, or the unknown kind.
func (e *UnknownError) Error() string {
	if e.Key.fresh() == nil {
		return fmt.Sprintf("unknown metadata record kind %d (version %d): the log was written by a newer software", int16(e.Key), e.Version)
	}
	return fmt.Sprintf("%s has version %d in the log, this software knows up to %d", e.Key, e.Version, e.Key.maxVersion())
}

// CorruptError is a record whose bytes do not parse. Key is -1 when not even the frame does.
type CorruptError struct {
	Key     Key
	Version int16
	Reason  string
}

// Error says what did not parse and why.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("corrupt metadata record (%s version %d): %s", e.Key, e.Version, e.Reason)
}
