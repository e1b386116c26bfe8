package consume

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"troupe/internal/javatext"
)

// deserializer gives the text of a value; nil leaves the bytes as they are.
type deserializer func([]byte) (string, error)

const serialization = "org.apache.kafka.common.serialization."

// newDeserializer gives Kafka's deserializer of a class name, with or without its package.
func newDeserializer(class string) (deserializer, error) {
	switch name := strings.TrimPrefix(class, serialization); name {
	case "":
		return nil, nil
	// A UUID is serialized as its text.
	case "StringDeserializer", "UUIDDeserializer":
		return func(b []byte) (string, error) { return strings.ToValidUTF8(string(b), "\uFFFD"), nil }, nil
	case "ShortDeserializer":
		return sized(name, 2, func(b []byte) string { return strconv.Itoa(int(int16(binary.BigEndian.Uint16(b)))) }), nil
	case "IntegerDeserializer":
		return sized(name, 4, func(b []byte) string { return strconv.Itoa(int(int32(binary.BigEndian.Uint32(b)))) }), nil
	case "LongDeserializer":
		return sized(name, 8, func(b []byte) string { return strconv.FormatInt(int64(binary.BigEndian.Uint64(b)), 10) }), nil
	case "FloatDeserializer":
		return sized(name, 4, func(b []byte) string {
			return javatext.Double(float64(math.Float32frombits(binary.BigEndian.Uint32(b))), 32)
		}), nil
	case "DoubleDeserializer":
		return sized(name, 8, func(b []byte) string {
			return javatext.Double(math.Float64frombits(binary.BigEndian.Uint64(b)), 64)
		}), nil
	case "BooleanDeserializer":
		return sized(name, 1, func(b []byte) string { return strconv.FormatBool(b[0] == 1) }), nil
	}
	return nil, fmt.Errorf("deserializer %s is not available: only those of %s* are", class, serialization)
}

// sized checks the length first: Java's deserializers refuse a value of another one.
func sized(name string, n int, text func([]byte) string) deserializer {
	return func(b []byte) (string, error) {
		if len(b) != n {
			return "", fmt.Errorf("Size of data received by %s is not %d", name, n)
		}
		return text(b), nil
	}
}
