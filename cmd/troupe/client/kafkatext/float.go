package kafkatext

import (
	"math"
	"strconv"
	"strings"
)

// Float writes a number as Double.toString does: plain from 10^-3 up to 10^7, otherwise with an exponent, and
// always with a digit after the point.
func Float(v float64, bits int) string {
	if text, ok := notFinite(v); ok {
		return text
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
	// Go writes E+07, Java E7; the exponent was just made by strconv and is a number.
	n, _ := strconv.Atoi(exponent)
	return mantissa + "E" + strconv.Itoa(n)
}

// notFinite names the values that have no digits, as Java does in every format.
func notFinite(v float64) (string, bool) {
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
