package model

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
)

// UUID is a 128-bit identifier, written as Kafka writes it: URL-safe base64 of 22 characters without padding
// (facts/storage-format.md). The zero value is "none".
type UUID [16]byte

// TopicID names one incarnation of a topic (KIP-516).
type TopicID = UUID

// DirectoryID names one log directory (KIP-858).
type DirectoryID = UUID

// Reserved directory ids (KIP-858).
var (
	// DirectoryUnassigned says that the broker has not told yet which of its directories holds the replica.
	DirectoryUnassigned = DirectoryID{}
	// DirectoryLost says that no one knows a directory of that replica that is online.
	DirectoryLost = DirectoryID{15: 1}
	// DirectoryMigrating says that the partition comes from a time without directory ids.
	DirectoryMigrating = DirectoryID{15: 2}
)

// NewUUID draws a random (version 4) UUID from r. It never returns one of Kafka's reserved values (0..99), and none
// whose text begins with '-', which command lines would take for a flag.
func NewUUID(r io.Reader) (UUID, error) {
	for {
		var u UUID
		if _, err := io.ReadFull(r, u[:]); err != nil {
			return UUID{}, fmt.Errorf("draw a uuid: %w", err)
		}
		u[6] = u[6]&0x0f | 0x40
		u[8] = u[8]&0x3f | 0x80
		if !u.reserved() && u.String()[0] != '-' {
			return u, nil
		}
	}
}

// RandomUUID draws one from the system's randomness.
func RandomUUID() UUID {
	u, err := NewUUID(rand.Reader)
	if err != nil {
		panic(err) // it does not fail
	}
	return u
}

// ParseUUID reads the text form.
func ParseUUID(s string) (UUID, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(b) != 16 || len(s) != 22 { // the decoder passes over line breaks
		return UUID{}, fmt.Errorf("%q is not a uuid: want 22 characters of URL-safe base64", s)
	}
	return UUID(b), nil
}

// String gives the text form.
func (u UUID) String() string { return base64.RawURLEncoding.EncodeToString(u[:]) }

// Hex gives 32 hex digits, the form in the names of directories that were renamed.
func (u UUID) Hex() string { return hex.EncodeToString(u[:]) }

// Compare orders by bytes, which is no order of creation: it only has to be the same everywhere.
func (u UUID) Compare(o UUID) int { return bytes.Compare(u[:], o[:]) }

// IsZero tells whether u is "none".
func (u UUID) IsZero() bool { return u == UUID{} }

func (u UUID) reserved() bool {
	return binary.BigEndian.Uint64(u[:8]) == 0 && binary.BigEndian.Uint64(u[8:]) < 100
}
