package consume

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// deserializer gives the text of a value; nil leaves the bytes as they are.
type deserializer func([]byte) (string, error)

const serialization = "org.apache.kafka.common.serialization."

// newDeserializer gives Kafka's deserializer of a class name, with or without its package.
func newDeserializer(class string) (deserializer, error) {
	switch name := strings.TrimPrefix(class, serialization); name {
	case "":
		return nil, nil
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
			return javaFloat(float64(math.Float32frombits(binary.BigEndian.Uint32(b))), 32)
		}), nil
	case "DoubleDeserializer":
		return sized(name, 8, func(b []byte) string {
			return javaFloat(math.Float64frombits(binary.BigEndian.Uint64(b)), 64)
		}), nil
	case "BooleanDeserializer":
		return sized(name, 1, func(b []byte) string { return strconv.FormatBool(b[0] == 1) }), nil
	}
	return nil, fmt.Errorf("deserializer %s is not available: only those of %s* are", class, serialization)
}

func sized(name string, n int, text func([]byte) string) deserializer {
	return func(b []byte) (string, error) {
		if len(b) != n {
			return "", fmt.Errorf("Size of data received by %s is not %d", name, n)
		}
		return text(b), nil
	}
}

// javaFloat writes a number as Double.toString does: plain from 10^-3 up to 10^7, otherwise with an exponent, and
// always with a digit after the point.
func javaFloat(v float64, bits int) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	}
	if a := math.Abs(v); v == 0 || a >= 1e-3 && a < 1e7 {
		s := strconv.FormatFloat(v, 'f', -1, bits)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'E', -1, bits), "E")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	n, _ := strconv.Atoi(exponent)
	return mantissa + "E" + strconv.Itoa(n)
}
