//go:build interop

// Package interop runs the clients that people use, unmodified, against the broker: Kafka's own tools, the Java
// client, kcat (librdkafka), franz-go and sarama. INTEROP_BOOTSTRAP points the same tests at another broker.
package interop

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/tests/kafka"
	"troupe/tests/node"
)

// codecs are Kafka's names of the compressions a producer can choose.
var codecs = []string{"none", "gzip", "snappy", "lz4", "zstd"}

// records is how many go round for each client and codec.
const records = 100_000

// broker gives the address of a broker of the test's own, or of the one that the environment names. Settings are
// key=value, for the former.
func broker(t *testing.T, settings ...string) string {
	t.Helper()
	if address := os.Getenv(node.BootstrapVar); address != "" {
		return address
	}
	return node.Start(t, node.Options{Set: settings}).Bootstrap
}

var names atomic.Int64

func freshName(prefix string) string {
	return fmt.Sprintf("%s-%d-%d", prefix, time.Now().UnixNano(), names.Add(1))
}

// createTopic makes a topic whose records do not age, and waits for its leaders.
func createTopic(t *testing.T, address, prefix string, partitions int32) string {
	t.Helper()
	return createReplicated(t, address, prefix, partitions, 1)
}

func createReplicated(t *testing.T, address, prefix string, partitions int32, replicas int16) string {
	t.Helper()
	admin := kadm.NewClient(client(t, address))
	name, forever := freshName(prefix), "-1"
	// An answer may be lost with the controller: who asks again hears that the topic is there.
	if _, err := admin.CreateTopic(t.Context(), partitions, replicas, map[string]*string{"retention.ms": &forever}, name); err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		t.Fatalf("create %s: %v", name, err)
	}
	node.Eventually(t, "the partitions have leaders", func() bool {
		ends, err := admin.ListEndOffsets(t.Context(), name)
		return err == nil && ends.Error() == nil && len(ends[name]) == int(partitions)
	})
	return name
}

func client(t *testing.T, address string, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(address), kgo.RetryTimeout(time.Minute)}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// watcher is who waits for a change of the cluster: it asks anew each time, instead of once in five seconds.
func watcher(t *testing.T, address string) *kadm.Client {
	t.Helper()
	return kadm.NewClient(client(t, address, kgo.MetadataMinAge(10*time.Millisecond)))
}

// troupe runs one of the binary's own client commands to its end.
func troupe(t testing.TB, stdin string, args ...string) kafka.Result {
	t.Helper()
	binary, err := node.Binary()
	if err != nil {
		t.Fatal(err)
	}
	return kafka.Run(t, stdin, binary, args...)
}

// succeeds runs a command that has to end well, and gives what it printed.
func succeeds(t *testing.T, name, stdin string, args ...string) string {
	t.Helper()
	r := kafka.Run(t, stdin, name, args...)
	if r.Code != 0 {
		t.Fatalf("%s %s: %v", name, strings.Join(args, " "), r)
	}
	return r.Stdout
}
