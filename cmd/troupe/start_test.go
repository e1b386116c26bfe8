package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"troupe/configs"
)

func TestEachMistakeOfAConfigurationIsALineThatSaysWhoSpeaks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "server.properties")
	if err := os.WriteFile(file, []byte("node.id=1\nnum.partitions=none\nlog.retension.hours=5\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, errs, exit := call("troupe", "start", "--config", file, "--set", "nope=1")
	lines := strings.Split(strings.TrimSpace(errs), "\n")
	if exit != 1 || out != "" || len(lines) != 3 {
		t.Fatalf("exit %d, out %q, err %q", exit, out, errs)
	}
	for i, want := range []string{"troupe: --set: nope=1", "troupe: " + file + ":2: ", "troupe: " + file + ":3: "} {
		if !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %d is %q, want it to begin with %q", i, lines[i], want)
		}
	}
}

func TestKeysWithoutEffectAreOneLineAndThoseAtKafkasDefaultNone(t *testing.T) {
	defaults := filepath.Join(t.TempDir(), "server.properties")
	if err := os.WriteFile(defaults, []byte("node.id=1\nlisteners=PLAINTEXT://localhost:9092\nnum.io.threads=8\nnum.network.threads=3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for file, lines := range map[string]int{
		filepath.Join("..", "..", "configs", "testdata", "kafka-4.3-server.properties"): 1, // replication factors of 1
		defaults: 0,
	} {
		loaded, err := configs.Load(configs.Options{File: file, Hostname: "here.example"})
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		tellUnused(slog.New(slog.NewTextHandler(&log, nil)), loaded.Unused)
		if got := strings.Count(log.String(), "\n"); got != lines || len(loaded.Unused) < 2 {
			t.Errorf("%s: %d keys without effect are told in %d lines:\n%s", file, len(loaded.Unused), got, log.String())
		}
		for _, u := range loaded.Unused {
			if strings.Contains(log.String(), u.Key) == u.AsDefault {
				t.Errorf("%s: %s, at Kafka's default: %v, in %q", file, u.Key, u.AsDefault, log.String())
			}
		}
	}
}

func TestAStartWithoutAFileSaysThatItRunsAloneOnlyWhereItDoes(t *testing.T) {
	const controllers = "listeners=PLAINTEXT://127.0.0.1:9092,C://127.0.0.1:9093 controller.listener.names=C "
	for set, alone := range map[string]bool{
		"":                 true,
		"num.partitions=3": true,
		"process.roles=broker controller.listener.names=C controller.quorum.bootstrap.servers=h:1":     false,
		controllers + "controller.quorum.voters=1@h:1,2@i:1":                                           false,
		controllers + "controller.quorum.bootstrap.servers=h:1":                                        false,
		controllers + "controller.quorum.bootstrap.servers=127.0.0.1:9093":                             true,
		controllers + "controller.quorum.bootstrap.servers=h:1,i:1 controller.quorum.initial.voters=2": false,
	} {
		loaded, err := configs.Load(configs.Options{Set: strings.Fields(set), DataDir: t.TempDir(), Hostname: "here.example"})
		if err != nil {
			t.Fatalf("%s: %v", set, err)
		}
		if line := embeddedLine(&loaded.Broker); strings.Contains(line, "running alone") != alone {
			t.Errorf("%q: %q", set, line)
		}
	}
}
