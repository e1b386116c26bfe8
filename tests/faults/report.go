//go:build interop && unix

package faults

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"troupe/tests/chaos"
)

var reportFile = flag.String("report", "", "where a table of the faults goes")

// report has a line of the table for each fault that was played. It is written anew after each, so that a run that ends
// early leaves what it found.
var report struct {
	sync.Mutex
	lines []string
}

const head = `| fault | seed | rounds | acknowledged | lost | repeated | out of order | given up | longest gap | took | |
|---|---|---|---|---|---|---|---|---|---|---|
`

func record(t *testing.T, title string, s *stage, v chaos.Verdict, took time.Duration) {
	how := "passed"
	if t.Failed() {
		how = "FAILED"
	}
	line := fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d | %d | %.2f s | %.1f s | %s |", title, s.seed, s.rounds, v.Acknowledged,
		v.Lost, v.Repeated, v.Disordered, v.GivenUp, v.Gap.Seconds(), took.Seconds(), how)
	t.Log(line)
	if *reportFile == "" {
		return
	}
	report.Lock()
	defer report.Unlock()
	report.lines = append(report.lines, line)
	if err := os.WriteFile(*reportFile, []byte(head+strings.Join(report.lines, "\n")+"\n"), 0o644); err != nil {
		t.Error(err)
	}
}
