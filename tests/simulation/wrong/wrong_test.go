// Package wrong has wrong changes of the code, one a patch, and shows that the simulator catches each of them: what it does not
// catch it proves nothing about.
package wrong

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	caught = flag.Bool("caught", false, "build the simulator with the wrong changes, and have it catch each of them")
	only   = flag.String("only", "", "the names of the changes to be caught, with commas; all when empty")
	seeds  = flag.Int("seeds", 200, "how many seeds may pass with a change in place at most")
	first  = flag.Uint64("seed", 1, "the first of them")
)

func TestEveryWrongChangeStillApplies(t *testing.T) {
	all, err := read(".")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 10 {
		t.Errorf("there are %d wrong changes, fewer than ten", len(all))
	}
	if _, err := changed(all); err != nil {
		t.Fatal(err)
	}
}

func TestAPatchThatNoLongerAppliesIsNamed(t *testing.T) {
	const patch = "Wrong.\n--- a/x.go\n+++ b/x.go\n@@ -1,2 +1,3 @@\n one\n+if wrongly(\"drift\") {}\n two\n"
	cases := []struct{ source, want string }{
		{"zero\none\ntwo\n", ""},
		{"one\nthree\n", "drift.patch no longer applies: x.go does not have these lines"},
		{"one\ntwo\none\ntwo\n", "drift.patch is ambiguous: x.go has these lines 2 times"},
	}
	c, err := parse("drift", patch)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range cases {
		files := map[string]string{}
		err := c.apply(files, func(string) (string, error) { return k.source, nil })
		if k.want == "" && (err != nil || files["x.go"] != "zero\none\nif wrongly(\"drift\") {}\ntwo\n") {
			t.Errorf("%q became %q: %v", k.source, files["x.go"], err)
		}
		if k.want != "" && (err == nil || !strings.HasPrefix(err.Error(), k.want)) {
			t.Errorf("%q: %v, want %s", k.source, err, k.want)
		}
	}
}

func TestTheSimulatorCatchesEveryWrongChange(t *testing.T) {
	if !*caught {
		t.Skip("not asked for by -caught, as task wrong and .ci/run do: it builds the simulator anew")
	}
	all, err := read(".")
	if err != nil {
		t.Fatal(err)
	}
	binary, err := build(all, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var table []string
	t.Run("each", func(t *testing.T) {
		for _, c := range all {
			if *only != "" && !slices.Contains(strings.Split(*only, ","), c.name) {
				continue
			}
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				row := catch(t, binary, c)
				mu.Lock()
				defer mu.Unlock()
				table = append(table, row)
			})
		}
	})
	slices.Sort(table)
	fmt.Println(strings.Join(table, "\n"))
}

// violation is how the simulator tells of a seed that failed.
var violation = regexp.MustCompile(`seed (\d+): (.*)`)

// catch runs seeds with a change in place until one fails, and gives the line that tells of it.
func catch(t *testing.T, binary string, c change) string {
	began := time.Now()
	cmd := exec.Command(binary, "-test.run=NothingBreaks", "-test.timeout=0", "-jobs=1", "-stop", "-minimise=false",
		fmt.Sprintf("-seed=%d", *first), fmt.Sprintf("-seeds=%d", *seeds))
	cmd.Env = append(os.Environ(), switchVariable+"="+c.name)
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Errorf("%s: %d seeds pass. The change: %s", c.name, *seeds, c.why)
		return fmt.Sprintf("%-26s NOT CAUGHT in %d seeds", c.name, *seeds)
	}
	found := violation.FindStringSubmatch(string(out))
	if found == nil {
		t.Fatalf("%s: the simulator ends without a violation: %v\n%s", c.name, err, out)
	}
	return fmt.Sprintf("%-26s seed %3s, %5.1fs: %s", c.name, found[1], time.Since(began).Seconds(), found[2])
}
