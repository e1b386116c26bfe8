package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestTheReportTakesMediansAndNamesWhatIsMissed(t *testing.T) {
	run := func(cpu string) figures {
		f, err := read(strings.NewReader(`{"label":"fetch","broker_cpu_s_per_GB":` + cpu + `}` + "\n" + `{"label":"latency","e2e_ms":{"p50":2}}`))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	var out bytes.Buffer
	report(&out, map[string][]figures{"kafka": {run("1"), run("100"), run("2")}, "troupe": {run("1"), run("3"), run("1")}})
	for _, want := range []string{
		"fetch broker_cpu_s_per_GB                  2.000       1.000       0.500  at most 0.7\n",
		"latency e2e_ms.p50                         2.000       2.000       1.000  at most 0.5: missed\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report has no line %q:\n%s", want, out.String())
		}
	}
}
