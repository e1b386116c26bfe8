//go:build interop

package interop

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/tests/node"
)

// versusScript writes a server.properties for each of three brokers of Kafka's, has them formatted and starts them. It lies
// beside this module where the tools that compare brokers do.
const versusScript = "../../../shared/tools/versus/versus"

// inKafkasPlace stands for the command that the script starts Kafka with: troupe takes the same files.
const inKafkasPlace = `#!/bin/sh
case $1 in
storage) exec "$BROKER" "$@" ;;
server) exec "$BROKER" start --config "$2" ;;
esac
exit 2
`

func TestTheFilesOfThreeBrokersOfKafkasMakeACluster(t *testing.T) {
	script, err := os.ReadFile(versusScript)
	if os.IsNotExist(err) {
		t.Skip("the tools that compare brokers are not beside this module")
	}
	if err != nil {
		t.Fatal(err)
	}
	binary, err := node.Binary()
	if err != nil {
		t.Fatal(err)
	}
	tools, data := t.TempDir(), filepath.Join(t.TempDir(), "cluster")
	versus := filepath.Join(tools, "versus", "versus")
	for path, text := range map[string]string{versus: string(script), filepath.Join(tools, "kafka", "kafka"): inKafkasPlace} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	ports := versusPorts(t)
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(versus, args...)
		cmd.Env = append(os.Environ(), "BROKER="+binary, "VERSUS_PORTS="+ports)
		out, err := cmd.Output()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Errorf("versus %v: %v\n%s", args, err, exit.Stderr)
		} else if err != nil {
			t.Errorf("versus %v: %v", args, err)
		}
		return string(out)
	}
	t.Cleanup(func() {
		for id := range 3 {
			if log, err := os.ReadFile(filepath.Join(data, fmt.Sprint(id+1), "log")); t.Failed() {
				t.Logf("broker %d: %s %v", id+1, log, err)
			}
		}
		run("kafka-down", data)
	})
	addresses, _, found := strings.Cut(run("kafka-up", "3", data), " ")
	if !found || t.Failed() {
		t.FailNow()
	}
	first, _, _ := strings.Cut(addresses, ",")
	admin := kadm.NewClient(client(t, first))
	node.Eventually(t, "the first broker knows all three", func() bool {
		found, err := admin.ListBrokers(t.Context())
		return err == nil && len(found) == 3
	})
	topic := createReplicated(t, first, "versus", 3, 3)
	lines := fill(t, first, topic, 100)
	reader := client(t, first, kgo.ConsumerGroup(freshName("versus")), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	within, cancel := context.WithTimeout(t.Context(), node.Patience)
	defer cancel()
	var read []string
	for len(read) < len(lines) && within.Err() == nil {
		reader.PollFetches(within).EachRecord(func(r *kgo.Record) { read = append(read, string(r.Value)) })
	}
	expectLines(t, "a member of a group", strings.Join(read, "\n"), lines)
}

// versusPorts finds the first digits of ports of which the script's six are free, below those of other tests.
func versusPorts(t *testing.T) string {
	t.Helper()
	for _, digits := range rand.Perm(5) {
		digits := strconv.Itoa(10 + digits)
		free := true
		for _, last := range []string{"192", "193", "292", "293", "392", "393"} {
			socket, err := net.Listen("tcp", "127.0.0.1:"+digits+last)
			if err == nil {
				socket.Close()
			}
			free = free && err == nil
		}
		if free {
			return digits
		}
	}
	t.Fatal("no ports are free for the script")
	return ""
}
