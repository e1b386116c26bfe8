// Package compress has the codecs of record batches, in the framings that Kafka's clients use.
package compress

import "fmt"

// Codec is the number that the attributes of a batch carry in their low three bits.
type Codec int8

// The codecs. The numbers are the format's.
const (
	None Codec = iota
	Gzip
	Snappy
	LZ4
	Zstd
)

var names = [...]string{None: "none", Gzip: "gzip", Snappy: "snappy", LZ4: "lz4", Zstd: "zstd"}

// Parse reads a codec's name as compression.type and the producers' tools write it.
func Parse(name string) (Codec, error) {
	for c, n := range names {
		if n == name {
			return Codec(c), nil
		}
	}
	return None, fmt.Errorf("%q is not a compression type: want none, gzip, snappy, lz4 or zstd", name)
}

// String is the name that Parse reads.
func (c Codec) String() string {
	if !c.Valid() {
		return fmt.Sprintf("codec(%d)", int8(c))
	}
	return names[c]
}

// Valid tells whether the number is a codec's.
func (c Codec) Valid() bool { return c >= None && c <= Zstd }
