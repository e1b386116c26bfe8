package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"troupe/cmd/troupe/client/option"
)

// answer is what a script said to a command line.
type answer struct {
	line, out, err string
	exit           int
}

// recorded reads testdata/scripts.txt.
func recorded(t *testing.T) []answer {
	t.Helper()
	text, err := os.ReadFile("testdata/scripts.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []answer
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		last := len(all) - 1
		switch {
		case strings.HasPrefix(line, "> "):
			all = append(all, answer{line: line[2:]})
		case strings.HasPrefix(line, "  out "):
			all[last].out += strings.TrimPrefix(line, "  out ") + "\n"
		case strings.HasPrefix(line, "  err "):
			all[last].err = strings.TrimPrefix(line, "  err ")
		case strings.HasPrefix(line, "  exit "):
			if _, err := fmt.Sscan(strings.TrimPrefix(line, "  exit "), &all[last].exit); err != nil {
				t.Fatal(err)
			}
		}
	}
	return all
}

// words splits a command line at blanks, except in single quotes.
func words(line string) []string {
	var out []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			out = append(out, part)
			continue
		}
		out = append(out, strings.Fields(part)...)
	}
	return out
}

func call(args ...string) (stdout, stderr string, exit int) {
	var out, errs bytes.Buffer
	exit = run(args, option.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
	return out.String(), errs.String(), exit
}

func TestWrongCommandLinesAreAnsweredAsKafkasScriptsAnswerThem(t *testing.T) {
	for _, want := range recorded(t) {
		t.Run(want.line, func(t *testing.T) {
			out, errs, exit := call(append([]string{"troupe"}, words(want.line)...)...)
			first, _, _ := strings.Cut(errs, "\n")
			if out != want.out || first != want.err || exit != want.exit {
				t.Errorf("\n got exit %d, out %q, err %q\nwant exit %d, out %q, err %q", exit, out, first, want.exit, want.out, want.err)
			}
			if strings.Count(errs, "\n") > 1 && !strings.HasPrefix(errs, "Error while executing config command") {
				t.Errorf("more than one line of complaint:\n%s", errs)
			}
		})
	}
}

func TestUnderTheNameOfAScriptTheBinaryIsThatCommand(t *testing.T) {
	for _, name := range []string{"kafka-topics.sh", "/opt/kafka/bin/kafka-topics.sh", "kafka-topics", "kafka-topics.bat"} {
		if out, errs, exit := call(name, "--version"); out != "4.3.1\n" || exit != 0 {
			t.Errorf("%s --version: exit %d, %q, %q", name, exit, out, errs)
		}
	}
}

func TestAScriptWithoutArgumentsExplainsItselfAndFails(t *testing.T) {
	out, errs, exit := call("kafka-topics.sh")
	if exit != 1 || out != "" || !strings.Contains(errs, "--bootstrap-server") {
		t.Errorf("exit %d, out %q, err %q", exit, out, errs)
	}
}

func TestHelpNamesEveryOptionAndSucceeds(t *testing.T) {
	out, _, exit := call("troupe", "console-consumer", "--help")
	for _, want := range []string{"troupe console-consumer [flags]\n", "--from-beginning", "--formatter-property", "--isolation-level", "--output"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in the help", want)
		}
	}
	if exit != 0 {
		t.Errorf("exit %d", exit)
	}
}

func TestAnInterruptedCommandSaysNothing(t *testing.T) {
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range []string{"topics", "groups", "consumer-groups"} {
		var out, errs bytes.Buffer
		for _, c := range commands(option.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}) {
			if c.Name() != name {
				continue
			}
			c.SetArgs([]string{"--list", "--bootstrap-server", "127.0.0.1:1"})
			if err := c.ExecuteContext(interrupted); err == nil {
				t.Errorf("%s: no error", name)
			}
		}
		if out.Len()+errs.Len() > 0 {
			t.Errorf("%s: out %q, err %q", name, &out, &errs)
		}
	}
}

func TestAFormatterThatIsNotAvailableSaysWhichAre(t *testing.T) {
	_, errs, exit := call("troupe", "console-consumer", "--topic", "t", "--bootstrap-server", "127.0.0.1:1", "--formatter", "com.example.Mine")
	want := "Formatter com.example.Mine is not available: only GroupMetadataMessageFormatter, OffsetsMessageFormatter, " +
		"ShareGroupStateMessageFormatter, TransactionLogMessageFormatter, DefaultMessageFormatter, NoOpMessageFormatter are.\n"
	if exit != 1 || errs != want {
		t.Errorf("exit %d, %q", exit, errs)
	}
}

func TestEveryCommandOfAScriptOfKafkaHasALink(t *testing.T) {
	dir := t.TempDir()
	if _, errs, exit := call("troupe", "install-tools", dir); exit != 0 {
		t.Fatalf("exit %d, %s", exit, errs)
	}
	own := []string{"start", "install-tools", "rebalance"} // no script of Kafka is called so
	for _, c := range commands(option.Streams{}) {
		_, err := os.Lstat(filepath.Join(dir, "kafka-"+c.Name()+".sh"))
		if linked := err == nil; linked == slices.Contains(own, c.Name()) {
			t.Errorf("%s: linked: %v", c.Name(), linked)
		}
	}
}

func TestAnUnknownCommandIsNamed(t *testing.T) {
	_, errs, exit := call("troupe", "toppics")
	if exit != 1 || !strings.Contains(errs, `"toppics"`) {
		t.Errorf("exit %d, %q", exit, errs)
	}
}

func TestAnAddressThatCannotBeTriedIsNamed(t *testing.T) {
	_, errs, exit := call("troupe", "topics", "--list", "--bootstrap-server", "127.0.0.1")
	if want := "Failed to create new KafkaAdminClient: Invalid url in bootstrap.servers: 127.0.0.1\n"; exit != 1 || errs != want {
		t.Errorf("exit %d, %q, want %q", exit, errs, want)
	}
}
