// Package kafka runs Apache Kafka's own command line tools and Java programs against its clients, from the jars that
// Maven fetches once.
package kafka

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Version is the release that the tests compare with.
const Version = "4.3.1"

// patience bounds one run of a tool; the slowest, a million records, takes far less.
const patience = 5 * time.Minute

//go:embed pom.xml
var pom []byte

// Jars gives the folder of Kafka's jars: KAFKA_LIB, or one below the user's cache that Maven fills the first time.
var Jars = sync.OnceValues(func() (string, error) {
	lib := os.Getenv("KAFKA_LIB")
	if lib == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		lib = filepath.Join(cache, "kafka-lib-"+Version)
	}
	complete := filepath.Join(lib, ".complete")
	if _, err := os.Stat(complete); err == nil {
		return lib, nil
	}
	dir, err := os.MkdirTemp("", "kafka-pom-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "pom.xml")
	if err := os.WriteFile(file, pom, 0o644); err != nil {
		return "", err
	}
	copyJars := exec.Command("mvn", "-q", "-B", "-f", file, "dependency:copy-dependencies", "-DoutputDirectory="+lib, "-DincludeScope=runtime")
	if out, err := copyJars.CombinedOutput(); err != nil {
		return "", fmt.Errorf("fetch Kafka %s: %w\n%s", Version, err, out)
	}
	return lib, os.WriteFile(complete, nil, 0o644)
})

// classes are the main classes behind the scripts of Kafka's bin folder, by the script's name without "kafka-".
var classes = map[string]string{
	"topics":               "org.apache.kafka.tools.TopicCommand",
	"configs":              "kafka.admin.ConfigCommand",
	"get-offsets":          "org.apache.kafka.tools.GetOffsetShell",
	"console-producer":     "org.apache.kafka.tools.ConsoleProducer",
	"console-consumer":     "org.apache.kafka.tools.consumer.ConsoleConsumer",
	"consumer-groups":      "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
	"producer-perf-test":   "org.apache.kafka.tools.ProducerPerformance",
	"consumer-perf-test":   "org.apache.kafka.tools.ConsumerPerformance",
	"groups":               "org.apache.kafka.tools.GroupsCommand",
	"delete-records":       "org.apache.kafka.tools.DeleteRecordsCommand",
	"log-dirs":             "org.apache.kafka.tools.LogDirsCommand",
	"broker-api-versions":  "org.apache.kafka.tools.BrokerApiVersionsCommand",
	"cluster":              "org.apache.kafka.tools.ClusterTool",
	"features":             "org.apache.kafka.tools.FeatureCommand",
	"metadata-quorum":      "org.apache.kafka.tools.MetadataQuorumCommand",
	"dump-log":             "org.apache.kafka.tools.DumpLogSegments",
	"storage":              "kafka.tools.StorageTool",
	"leader-election":      "org.apache.kafka.tools.LeaderElectionCommand",
	"reassign-partitions":  "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
	"replica-verification": "org.apache.kafka.tools.ReplicaVerificationTool",
	"e2e-latency":          "org.apache.kafka.tools.EndToEndLatency",
	"verifiable-producer":  "org.apache.kafka.tools.VerifiableProducer",
	"server":               "kafka.Kafka",
	"verifiable-consumer":  "org.apache.kafka.tools.VerifiableConsumer",
}

// Result is what a command left behind.
type Result struct {
	Stdout, Stderr string
	Code           int
}

// String shows all of it, for messages.
func (r Result) String() string {
	return fmt.Sprintf("exit code %d\n--- stdout\n%s--- stderr\n%s", r.Code, r.Stdout, r.Stderr)
}

// ToolLine gives the command line of one of Kafka's tools, for a test that runs it beside itself.
func ToolLine(t testing.TB, name string, args ...string) []string {
	t.Helper()
	class, known := classes[name]
	if !known {
		t.Fatalf("no class is known for the tool %q", name)
	}
	return mustJavaLine(t, "", append([]string{class}, args...)...)
}

// Java runs a main class with its arguments. More is put before Kafka's jars on the class path.
func Java(t testing.TB, more, stdin string, args ...string) Result {
	t.Helper()
	line := mustJavaLine(t, more, args...)
	return Run(t, stdin, line[0], line[1:]...)
}

func mustJavaLine(t testing.TB, more string, args ...string) []string {
	t.Helper()
	line, err := javaLine(more, args...)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func javaLine(more string, args ...string) ([]string, error) {
	jars, err := Jars()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(jars, "*")
	if more != "" {
		path = more + string(os.PathListSeparator) + path
	}
	// The serial collector and the first compiler start fastest, and most tools live a second.
	return append([]string{"java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", path}, args...), nil
}

// Run runs any command to its end.
func Run(t testing.TB, stdin, name string, args ...string) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", name, err)
	}
	if ctx.Err() != nil {
		t.Fatalf("%s %s: not done after %v:\n%s%s", name, strings.Join(args, " "), patience, stdout.String(), stderr.String())
	}
	return Result{Stdout: stdout.String(), Stderr: stderr.String(), Code: cmd.ProcessState.ExitCode()}
}
