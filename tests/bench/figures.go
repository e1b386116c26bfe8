package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// figures are the numbers of one run by "load figure", such as "fetch broker_cpu_s_per_GB".
type figures map[string]float64

// read takes the JSON lines of the load generator; nested objects give names with dots.
func read(lines io.Reader) (figures, error) {
	got := figures{}
	for decoder := json.NewDecoder(lines); ; {
		var line map[string]any
		if err := decoder.Decode(&line); err == io.EOF {
			return got, nil
		} else if err != nil {
			return nil, err
		}
		label, _ := line["label"].(string)
		got.add(label+" ", line)
	}
}

func (f figures) add(prefix string, values map[string]any) {
	for name, value := range values {
		switch value := value.(type) {
		case float64:
			f[prefix+name] = value
		case map[string]any:
			f.add(prefix+name+".", value)
		}
	}
}

// asked is a bound on the ratio of Troupe's figure to Kafka's.
type asked struct {
	figure   string
	atMost   float64 // 0 when the bound is from below
	atLeast  float64
	absolute float64 // a bound on Troupe's figure itself
}

// goals are the figures that count, in the order of the report.
var goals = []asked{
	{figure: "produce-64K broker_cpu_s_per_GB", atMost: 0.12},
	{figure: "produce-64K MBps", atLeast: 1.5},
	{figure: "produce-1K broker_cpu_s_per_GB", atMost: 0.12},
	{figure: "produce-1K reqps", atLeast: 3},
	{figure: "fetch broker_cpu_s_per_GB", atMost: 0.7},
	{figure: "fetch MBps"},
	{figure: "latency e2e_ms.p50", atMost: 0.5},
	{figure: "latency e2e_ms.p99", atMost: 0.5},
	{figure: "latency broker_cpu_s", atMost: 0.2},
	{figure: "latency rss_MiB", absolute: 64},
}

// report prints one row a goal: medians, their ratio, and whether it is what is asked.
func report(w io.Writer, results map[string][]figures) {
	fmt.Fprintf(w, "%-36s%12s%12s%12s  %s\n", "figure", "Kafka", "Troupe", "ratio", "asked")
	for _, g := range goals {
		theirs, ours := median(results["kafka"], g.figure), median(results["troupe"], g.figure)
		ratio := ours / theirs
		fmt.Fprintf(w, "%-36s%12.3f%12.3f%12.3f  %s\n", g.figure, theirs, ours, ratio, g.verdict(ours, ratio))
	}
}

func (g asked) verdict(ours, ratio float64) string {
	text, met := "", true
	switch {
	case g.atMost > 0:
		text, met = fmt.Sprintf("at most %g", g.atMost), ratio <= g.atMost
	case g.atLeast > 0:
		text, met = fmt.Sprintf("at least %g", g.atLeast), ratio >= g.atLeast
	case g.absolute > 0:
		text, met = fmt.Sprintf("at most %g itself", g.absolute), ours <= g.absolute
	}
	if !met {
		text += ": missed"
	}
	return strings.TrimSpace(text)
}

// median of a figure over the runs; NaN where none has it.
func median(runs []figures, name string) float64 {
	var values []float64
	for _, run := range runs {
		if v, there := run[name]; there {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return math.NaN()
	}
	slices.Sort(values)
	return values[len(values)/2]
}
