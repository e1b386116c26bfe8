package e2elatency

import (
	"bytes"
	mathrand "math/rand/v2"
	"testing"
	"time"
)

// The form of the lines is that of kafka-e2e-latency 4.3.1, the figures are arithmetic.
func TestTheSummaryIsTheScriptsTwoLines(t *testing.T) {
	var times []time.Duration
	for i := range 1000 {
		times = append(times, time.Duration(999-i)*time.Millisecond+500*time.Microsecond)
	}
	var out bytes.Buffer
	newSummary(times).print(&out)
	// The mean of 0.5 to 999.5 ms; ranks 500, 990 and 999 of 1000, cut to whole ms.
	want := "Avg latency: 500.0000 ms\nPercentiles: 50th = 500, 99th = 990, 99.9th = 999\n"
	if out.String() != want {
		t.Errorf("\n got %s\nwant %s", out.String(), want)
	}
}

func TestARecordIsMadeOfRepeatedLetters(t *testing.T) {
	p := &plan{topic: "t", size: 20, keySize: 5, headers: 2, headerKeySize: 3, headerSize: -1}
	r := p.record(mathrand.New(mathrand.NewPCG(0, 0)))
	for _, part := range [][]byte{r.Value, r.Key, []byte(r.Headers[0].Key), []byte(r.Headers[1].Key)} {
		if len(bytes.Trim(part, string(part[:1]))) != 0 || part[0] < 'A' || part[0] > 'Z' {
			t.Errorf("%q is not one letter again and again", part)
		}
	}
	if len(r.Value) != 20 || len(r.Key) != 5 || len(r.Headers[0].Key) != 3 || r.Headers[0].Value != nil {
		t.Errorf("sizes of %+v", r)
	}
}
