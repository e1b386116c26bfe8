// Package javatext writes values as Java does: configuration values and the output of Kafka's scripts are compared as texts.
package javatext

import (
	"math"
	"strconv"
	"strings"
)

// Double writes a number as Double.toString does, or with 32 bits as Float.toString: plain from 10^-3 up to 10^7,
// otherwise with an exponent, and always with a digit after the point.
func Double(v float64, bits int) string {
	if text, ok := NotFinite(v); ok {
		return text
	}
	if size := math.Abs(v); v == 0 || size >= 1e-3 && size < 1e7 {
		return pointed(strconv.FormatFloat(v, 'f', -1, bits))
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'E', -1, bits), "E")
	// Go writes E+07, Java E7; the exponent was just made by strconv and is a number.
	n, _ := strconv.Atoi(exponent)
	return pointed(mantissa) + "E" + strconv.Itoa(n)
}

func pointed(digits string) string {
	if strings.Contains(digits, ".") {
		return digits
	}
	return digits + ".0"
}

// NotFinite names the values that have no digits, as Java does in every format.
func NotFinite(v float64) (string, bool) {
	switch {
	case math.IsNaN(v):
		return "NaN", true
	case math.IsInf(v, 1):
		return "Infinity", true
	case math.IsInf(v, -1):
		return "-Infinity", true
	}
	return "", false
}
