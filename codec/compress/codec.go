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

// String is the codec's name in compression.type and in the producers' tools.
func (c Codec) String() string {
	if !c.Valid() {
		return fmt.Sprintf("codec(%d)", int8(c))
	}
	return names[c]
}

// Valid tells whether the number is a codec's.
func (c Codec) Valid() bool { return c >= None && c <= Zstd }
