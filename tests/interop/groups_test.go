//go:build interop

package interop

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/tests/kafka"
)

// fill writes numbered lines and gives them.
func fill(t *testing.T, address, topic string, n int) []string {
	t.Helper()
	producer := client(t, address, kgo.DefaultProduceTopic(topic))
	var lines []string
	for i := range n {
		lines = append(lines, fmt.Sprintf("line-%d", i))
		producer.Produce(t.Context(), kgo.StringRecord(lines[i]), func(_ *kgo.Record, err error) {
			if err != nil {
				t.Error(err)
			}
		})
	}
	if err := producer.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return lines
}

// A group that Kafka's console began is gone on with by kcat: it gets what is new, and another group gets everything.
func TestAGroupGoesOnWithAnotherClient(t *testing.T) {
	address := broker(t)
	topic := createTopic(t, address, "groups", 3)
	first := fill(t, address, topic, 100)
	java := kafka.Tool(t, "console-consumer", "", "--bootstrap-server", address, "--topic", topic, "--group", "g", "--from-beginning", "--max-messages", "100")
	expectLines(t, "the Java consumer", printed(t, java), first)

	second := fill(t, address, topic, 50)
	expectLines(t, "kcat in the same group", kcatGroup(t, address, "g", topic), second)
	expectLines(t, "kcat in another group", kcatGroup(t, address, "h", topic), append(append([]string(nil), first...), second...))
}

// kcatGroup reads in a group until the end of each partition.
func kcatGroup(t *testing.T, address, group, topic string) string {
	t.Helper()
	if _, err := exec.LookPath("kcat"); err != nil {
		t.Skip("kcat is not installed")
	}
	r := kafka.Run(t, "", "kcat", "-b", address, "-G", group, topic, "-e", "-q", "-X", "auto.offset.reset=earliest")
	if r.Code != 0 {
		t.Fatal(r)
	}
	return printed(t, r)
}

// printed is the standard output; all of the result is told when the test fails.
func printed(t *testing.T, r kafka.Result) string {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(r)
		}
	})
	return r.Stdout
}

func expectLines(t *testing.T, who, got string, want []string) {
	t.Helper()
	count := map[string]int{}
	for _, line := range want {
		count[line]++
	}
	for _, line := range strings.Fields(got) {
		count[line]--
	}
	for line, n := range count {
		if n != 0 {
			t.Errorf("%s: %d of %q are missing (negative: too many)", who, n, line)
		}
	}
}

// The commands of a walk-through, with what Kafka 4.3.1 prints about itself.
func TestKafkasGroupCommandFindsNoDifference(t *testing.T) {
	address := broker(t)
	topic := createTopic(t, address, "groups", 1)
	lines := fill(t, address, topic, 10)
	read := kafka.Tool(t, "console-consumer", "", "--bootstrap-server", address, "--topic", topic, "--group", "g", "--from-beginning", "--max-messages", "10")
	expectLines(t, "the consumer", printed(t, read), lines)
	command := func(args ...string) kafka.Result {
		return kafka.Tool(t, "consumer-groups", "", append([]string{"--bootstrap-server", address}, args...)...)
	}
	for _, step := range []struct {
		args []string
		want []string // in the output, by fields of a line
	}{
		{[]string{"--list", "--state"}, []string{"g Empty"}},
		{[]string{"--describe", "--group", "g"}, []string{"Consumer group 'g' has no active members.", "g " + topic + " 0 10 10 0 - - -"}},
		{[]string{"--group", "g", "--topic", topic, "--reset-offsets", "--shift-by", "-4", "--execute"}, []string{"g " + topic + " 0 6"}},
		{[]string{"--describe", "--group", "g"}, []string{"g " + topic + " 0 6 10 4 - - -"}},
		{[]string{"--group", "g", "--topic", topic, "--delete-offsets"}, []string{topic + " 0 Successful"}},
		{[]string{"--delete", "--group", "g"}, []string{"Deletion of requested consumer groups ('g') was successful."}},
	} {
		got := command(step.args...)
		text := squeeze(got.Stdout + "\n" + got.Stderr)
		for _, want := range step.want {
			if !strings.Contains(text, want) {
				t.Errorf("%v: %q is not in\n%v", step.args, want, got)
			}
		}
	}
}

// squeeze leaves one blank between the fields of each line.
func squeeze(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(strings.Join(strings.Fields(line), " ") + "\n")
	}
	return out.String()
}
