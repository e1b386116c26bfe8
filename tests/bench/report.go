package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
)

// row is one figure of the report.
type row struct {
	name string
	goal goal
}

// goal is what is asked of a figure; the zero value asks nothing.
type goal struct {
	ratioAtMost, ratioAtLeast float64 // to Kafka's
	atMost, atLeast           float64 // of Troupe's own
}

// report collects measurements by row and contestant.
type report struct {
	rows   []row
	values map[string]map[string][]float64 // row, contestant
}

// add notes a measurement. The first one places the row.
func (r *report) add(name, contestant string, value float64, g goal) {
	if r.values[name] == nil {
		if r.values == nil {
			r.values = make(map[string]map[string][]float64)
		}
		r.values[name] = make(map[string][]float64)
		r.rows = append(r.rows, row{name, g})
	}
	of := r.values[name]
	of[contestant] = append(of[contestant], value)
}

// print writes the table: medians, their ratio, the ratio of the first round, and whether that is what is asked.
func (r *report) print(w io.Writer) {
	fmt.Fprintf(w, "| %-38s | %9s | %9s | %6s | %6s | %s |\n", "figure", "Kafka", "Troupe", "ratio", "first", "asked")
	fmt.Fprintln(w, "|---|---|---|---|---|---|")
	for _, row := range r.rows {
		theirs, ours := r.values[row.name]["kafka"], r.values[row.name]["troupe"]
		ratio := median(ours) / median(theirs)
		first := math.NaN()
		if len(theirs) > 1 && len(ours) > 1 {
			first = ours[0] / theirs[0]
		}
		fmt.Fprintf(w, "| %-38s | %9s | %9s | %6s | %6s | %s |\n",
			row.name, figure(median(theirs)), figure(median(ours)), figure(ratio), figure(first), row.goal.verdict(median(ours), ratio))
	}
}

// figure shows three digits; nothing for what was not measured.
func figure(v float64) string {
	switch size := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return ""
	case size >= 100:
		return fmt.Sprintf("%.0f", v)
	case size >= 10:
		return fmt.Sprintf("%.1f", v)
	case size >= 1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

func (g goal) verdict(ours, ratio float64) string {
	text, met := "", true
	switch {
	case g.ratioAtMost > 0:
		text, met = fmt.Sprintf("ratio at most %g", g.ratioAtMost), ratio <= g.ratioAtMost
	case g.ratioAtLeast > 0:
		text, met = fmt.Sprintf("ratio at least %g", g.ratioAtLeast), ratio >= g.ratioAtLeast
	case g.atMost > 0:
		text, met = fmt.Sprintf("at most %g", g.atMost), ours <= g.atMost
	case g.atLeast > 0:
		text, met = fmt.Sprintf("at least %g", g.atLeast), ours >= g.atLeast
	}
	switch {
	case math.IsNaN(ours) || math.IsNaN(ratio) && g.ratioAtMost+g.ratioAtLeast > 0:
		return text
	case !met:
		return text + ": missed"
	}
	return text
}

// median is NaN where nothing was measured.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	if n := len(sorted); n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[len(sorted)/2]
}

// save writes every measurement as JSON; an empty name saves nothing.
func (r *report) save(name string) error {
	if name == "" {
		return nil
	}
	text, err := json.MarshalIndent(r.values, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o644)
}
