package script

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestANameStandsForACommand(t *testing.T) {
	for line, want := range map[string]string{
		"troupe topics --list":                                              "topics --list",
		"kafka-topics.sh --list":                                            "topics --list",
		"bin/kafka-get-offsets --topic t":                                   "get-offsets --topic t",
		"kafka-run-class.sh kafka.tools.GetOffsetShell --topic t":           "get-offsets --topic t",
		"kafka-run-class.sh -name x -loggc kafka.admin.ConfigCommand --all": "configs --all",
		"kafka-run-class.sh org.apache.kafka.tools.ProducerPerformance":     "producer-perf-test",
		"kafka-server-start.sh server.properties --override node.id=1":      "start server.properties --override node.id=1",
		"kafka-server-start.sh -daemon server.properties":                   "daemon start server.properties",
		"kafka-run-class.sh -daemon kafka.Kafka server.properties":          "daemon start server.properties",
	} {
		l, err := Read(strings.Fields(line))
		got := l.Args
		if l.Daemon {
			got = append([]string{"daemon"}, got...)
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: got %v, %v, want %s", line, got, err, want)
		}
	}
}

func TestAClassThatIsNotThereIsNamed(t *testing.T) {
	_, err := Read([]string{"kafka-run-class.sh", "kafka.tools.Nothing"})
	if err == nil || err.Error() != "Error: Could not find or load main class kafka.tools.Nothing" {
		t.Errorf("got %v", err)
	}
	for _, args := range [][]string{{"kafka-run-class.sh"}, {"kafka-run-class.sh", "-name"}, {"kafka-server-start.sh"}, {"kafka-server-start.sh", "-daemon"}} {
		if _, err := Read(args); err == nil || !strings.HasPrefix(err.Error(), "USAGE: ") {
			t.Errorf("%v: got %v", args, err)
		}
	}
}

func TestEveryClassOfACommandHasALink(t *testing.T) {
	all := names()
	for _, want := range []string{"kafka-topics.sh", "kafka-dump-log.sh", "kafka-server-start.sh", "kafka-server-stop.sh", "kafka-run-class.sh"} {
		if !slices.Contains(all, want) {
			t.Errorf("no %s", want)
		}
	}
	if slices.Contains(all, "kafka-start.sh") {
		t.Error("the broker has a script of its own")
	}
}

func TestALinkReplacesALinkAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "kafka-topics.sh")
	for range 2 {
		if err := link("/somewhere/troupe", file); err != nil {
			t.Fatal(err)
		}
	}
	if to, err := os.Readlink(file); err != nil || to != "/somewhere/troupe" {
		t.Errorf("the link leads to %s, %v", to, err)
	}
	own := filepath.Join(dir, "kafka-configs.sh")
	if err := os.WriteFile(own, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := link("/somewhere/troupe", own); err == nil || !strings.Contains(err.Error(), own) {
		t.Errorf("a file was replaced: %v", err)
	}
}

func TestABrokerIsKnownByItsCommandLineAndItsFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "server.properties"), []byte("node.id=7\nprocess.roles=broker,controller\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args, ok := broker([]string{"bin/kafka-server-start.sh", "server.properties"})
	if !ok {
		t.Fatal("not taken for a broker")
	}
	p := process{dir: dir, args: args}
	if p.property("node.id") != "7" || p.property("process.roles") != "broker,controller" {
		t.Errorf("node %q, roles %q", p.property("node.id"), p.property("process.roles"))
	}
	p.args = append(p.args, "--override", "node.id=9")
	if p.property("node.id") != "9" {
		t.Errorf("overridden node %q", p.property("node.id"))
	}
	if _, ok := broker([]string{"troupe", "topics", "--list"}); ok {
		t.Error("a client command was taken for a broker")
	}
}
