package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestTheReportTakesMediansAndNamesWhatIsMissed(t *testing.T) {
	var r report
	for _, v := range []struct {
		name        string
		kafka, ours []float64
		goal        goal
	}{
		{"fetch CPU", []float64{1, 100, 2}, []float64{1, 3, 1}, goal{ratioAtMost: 0.7}},
		{"rate", []float64{10, 20}, []float64{20, 40}, goal{ratioAtLeast: 3}},
		{"memory", nil, []float64{65}, goal{atMost: 64}},
		{"not asked", []float64{4}, []float64{8}, goal{}},
		{"Troupe alone", nil, []float64{8}, goal{ratioAtMost: 0.5}},
	} {
		for _, x := range v.kafka {
			r.add(v.name, "kafka", x, v.goal)
		}
		for _, x := range v.ours {
			r.add(v.name, "troupe", x, v.goal)
		}
	}
	var out bytes.Buffer
	r.print(&out)
	got := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"| fetch CPU | 2.00 | 1.00 | 0.500 | 1.00 | ratio at most 0.7 |",
		"| rate | 15.0 | 30.0 | 2.00 | 2.00 | ratio at least 3: missed |",
		"| memory | | 65.0 | | | at most 64: missed |",
		"| not asked | 4.00 | 8.00 | 2.00 | | |",
		"| Troupe alone | | 8.00 | | | ratio at most 0.5 |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the report has no row %q:\n%s", want, out.String())
		}
	}
}
