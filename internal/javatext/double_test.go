package javatext

import (
	"math"
	"testing"
)

// The expected values were printed by Java 17.

func TestNumbersAreWrittenAsDoubleToStringWritesThem(t *testing.T) {
	for want, v := range map[string]float64{
		"0.0": 0, "1.0": 1, "-1.5": -1.5, "1.0E7": 1e7, "9999999.5": 9999999.5, "0.001": 0.001, "9.9E-4": 0.00099,
		"1.0E10": 1e10, "1.2345678901234568E17": 123456789012345680, "1024.0": 1024, "3.0E-5": 3e-5, "0.3333333333333333": 1.0 / 3,
		"NaN": math.NaN(), "-Infinity": math.Inf(-1),
	} {
		if got := Double(v, 64); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := Double(float64(float32(1)/3), 32); got != "0.33333334" {
		t.Errorf("a float of 32 bits: %s", got)
	}
}
