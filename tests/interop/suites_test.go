//go:build interop

package interop

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// leftOut lists the tests of a foreign suite that one broker of today cannot serve, with what each misses.
type leftOut map[string]string

// pattern gives what go test's -skip takes.
func (l leftOut) pattern() string {
	var names []string
	for name := range l {
		names = append(names, "^"+name+"$")
	}
	slices.Sort(names)
	return strings.Join(names, "|")
}

var franzLeftOut = leftOut{
	"TestTxnEtl":                         "AddPartitionsToTxn",
	"TestConsumeRegexShareSkipsInternal": "ShareGroupHeartbeat",
	"TestShareGroup":                     "ShareGroupHeartbeat",
	"TestShareGroupETL":                  "ShareGroupHeartbeat",
	"TestShareGroupAckOnClose":           "ShareGroupHeartbeat",
	"TestShareGroupOffsetsAdmin":         "DescribeShareGroupOffsets",
	"TestSCRAMAuth":                      "SaslHandshake",
	"TestSCRAMAuthBadCredentials":        "SaslHandshake",
	"TestOAuthAuth":                      "SaslHandshake",
}

// TestFranzGoPassesItsOwnTests runs the public tests of franz-go's client against the broker, in a module of its own.
func TestFranzGoPassesItsOwnTests(t *testing.T) {
	const version = "v1.22.3"
	dir := t.TempDir()
	goCommand(t, dir, nil, "mod", "init", "franztests")
	goCommand(t, dir, nil, "get", "-t", "github.com/twmb/franz-go/pkg/kgo@"+version)
	passed := suite(t, dir, []string{"KGO_SEEDS=" + broker(t), "KGO_TEST_RF=1", "KGO_TEST_RECORDS=50000", "KGO_LOG_LEVEL=none"},
		"-skip", franzLeftOut.pattern(), "github.com/twmb/franz-go/pkg/kgo")
	for _, name := range []string{"TestClient_Produce", "TestConsumeTopicRetrieval", "TestIssue810", "TestPauseIssue489", "TestPing"} {
		if !slices.Contains(passed, name) {
			t.Errorf("%s did not run: is the suite pointed at the broker?", name)
		}
	}
}

// saramaServed are the functional tests of sarama that need one broker without transactions and quotas.
var saramaServed = []string{
	"TestFuncClientMetadata", "TestFuncConsumerOffsetOutOfRange", "TestConsumerHighWaterMarkOffset",
	"TestVersionMatrix", "TestVersionMatrixLZ4", "TestVersionMatrixZstd", "TestVersionMatrixIdempotent",
	"TestFuncDescribeProducers", "TestFuncProducing", "TestFuncProducingGzip", "TestFuncProducingSnappy",
	"TestFuncProducingZstd", "TestFuncProducingNoResponse", "TestFuncProducingFlushing",
	"TestFuncMultiPartitionProduce", "TestFuncProducingToInvalidTopic", "TestInterceptors",
	"TestAsyncProducerRemoteBrokerClosed", "TestFuncAdminDeleteTopic", "TestFuncAdminListOffsets",
	"TestFuncAdminIncrementalAlterConfigs", "TestFuncAdminDescribeLogDirs", "TestFuncAdminAlterConfig",
	"TestFuncAdminDescribeConfig", "TestFuncAdminDeleteRecords", "TestFuncAdminUpdateFeatures",
	"TestFuncAdminDescribeGroups",
	"TestFuncAdminListConsumerGroups",
	"TestFuncAdminListConsumerGroupOffsetsBatch",
	"TestFuncAdminAlterConsumerGroupOffsets",
	"TestFuncAdminDeleteGroup",
	"TestFuncClientCoordinator",
	"TestFuncConsumerGroupCooperative",
	"TestFuncJoinGroupVersionSelection",
	"TestFuncConsumerGroupPartitioning",
	"TestFuncConsumerGroupPartitioningStateful",
	"TestFuncConsumerGroupExcessConsumers",
	"TestFuncConsumerGroupRebalanceAfterAddingPartitions",
	"TestFuncConsumerGroupFuzzy",
	"TestFuncConsumerGroupOffsetDeletion",
	"TestFuncConsumerGroupStaticMembership_Basic",
	"TestFuncConsumerGroupStaticMembership_RejoinAndLeave",
	"TestFuncConsumerGroupStaticMembership_Fenced",
	"TestConsumerGroupDeadlock",
	"TestFuncOffsetManager",
}

// saramaLeftOut are its other functional tests.
var saramaLeftOut = leftOut{
	"TestFuncAdminQuotas":                                 "DescribeClientQuotas",
	"TestFuncAdminListConsumerGroupOffsets":               "a second broker",
	"TestFuncAdminElectLeadersV1":                         "a second broker",
	"TestFuncAdminAlterPartitionReassignments":            "a second broker",
	"TestFuncConnectionFailure":                           "a proxy that breaks connections",
	"TestFuncAdminNetworkErrorClosesControllerConnection": "a proxy that breaks connections",
	"TestConsumerFetchFollowerFailover":                   "a second broker",
	"TestFuncJavaInteropCooperativeRebalance":             "JoinGroup",
	"TestConsumerPartialBatchRecovery":                    "nothing: it is for a command inside sarama's containers",
	"TestReadOnlyAndAllCommittedMessages":                 "AddPartitionsToTxn",
	"TestFuncDescribeTransactions":                        "DescribeTransactions",
	"TestFuncListTransactions":                            "ListTransactions",
	"TestJavaProducerCompressionRoundTrip":                "nothing: it is for a command inside sarama's containers",
	"TestJavaConsumerCompressionRoundTrip":                "nothing: it is for a command inside sarama's containers",
	"TestJavaMurmur2PartitionerInterop":                   "nothing: it is for a command inside sarama's containers",
	"TestFuncTxnProduceNoBegin":                           "InitProducerId with a transactional id",
	"TestFuncTxnCommitNoMessages":                         "InitProducerId with a transactional id",
	"TestFuncTxnProduce":                                  "InitProducerId with a transactional id",
	"TestFuncTxnProduceWithBrokerFailure":                 "InitProducerId with a transactional id",
	"TestFuncTxnProduceEpochBump":                         "InitProducerId with a transactional id",
	"TestFuncInitProducerId3":                             "InitProducerId with a transactional id",
	"TestFuncTxnProduceAndCommitOffset":                   "InitProducerId with a transactional id",
	"TestFuncTxnProduceMultiTxn":                          "InitProducerId with a transactional id",
	"TestFuncTxnAbortedProduce":                           "InitProducerId with a transactional id",
	"TestFuncProducingIdempotentWithBrokerFailure":        "a second broker",
	"TestFuncIdempotentBufferedSequence":                  "nothing: it is for a command inside sarama's containers",
}

// saramaEdits fit sarama's test environment, five containers behind proxies, to one broker without.
var saramaEdits = []struct{ old, with string }{
	{`ReplicationFactor: *\d`, `ReplicationFactor: 1`},
	{`i <= 5; i\+\+`, `i <= 1; i++`},
	{`fmt\.Sprintf\("127\.0\.0\.1:%d", 29090\+i\)`, `os.Getenv("SARAMA_BROKER")`},
	{`topicNames := \[\]string\{"__consumer_offsets"\}`, `var topicNames []string`},
	{`minRequestLatencyInMs := 10`, `minRequestLatencyInMs := 0`}, // what the proxies add
}

func TestSaramaPassesItsFunctionalTests(t *testing.T) {
	address := broker(t, "auto.create.topics.enable=false") // as in sarama's containers
	module := strings.TrimSpace(string(goCommand(t, ".", nil, "list", "-m", "-f", "{{.Dir}}", "github.com/IBM/sarama")))
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(module)); err != nil {
		t.Fatal(err)
	}
	edit(t, dir)
	// Stands for toxiproxy, whose faults these tests do not ask for.
	proxies := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/reset" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		fmt.Fprint(w, `{"name":"kafka1","listen":"","upstream":"","enabled":true,"toxics":[]}`)
	}))
	defer proxies.Close()
	passed := suite(t, dir, []string{"SARAMA_BROKER=" + address, "TOXIPROXY_ADDR=" + proxies.URL, "KAFKA_VERSION=4.1.0"},
		"-tags", "functional", "-run", "^("+strings.Join(saramaServed, "|")+")$", ".")
	for _, name := range saramaServed {
		if !slices.Contains(passed, name) {
			t.Errorf("%s did not pass", name)
		}
	}
	everyFunctionalTestIsAccountedFor(t, dir)
}

// edit applies saramaEdits to the functional tests, and makes every file writable, which the module cache's are not.
func edit(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := os.Chmod(path, 0o755); err != nil || entry.IsDir() || !strings.HasPrefix(entry.Name(), "functional_") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, e := range saramaEdits {
			text = regexp.MustCompile(e.old).ReplaceAll(text, []byte(e.with))
		}
		return os.WriteFile(path, text, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

var testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)

func everyFunctionalTestIsAccountedFor(t *testing.T, dir string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "functional_*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range testFunction.FindAllSubmatch(text, -1) {
			name := string(match[1])
			if _, out := saramaLeftOut[name]; !out && !slices.Contains(saramaServed, name) {
				t.Errorf("%s is neither run nor left out", name)
			}
		}
	}
}

// goCommand runs the go tool in a folder and gives its standard output.
func goCommand(t *testing.T, dir string, env []string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "GOFLAGS=-mod=mod"), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return out
}

// suite runs a foreign test suite, tells its failures as this test's, and gives the names of what passed.
func suite(t *testing.T, dir string, env []string, args ...string) (passed []string) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"test", "-v", "-count=1", "-timeout=8m"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "GOFLAGS=-mod=mod"), env...)
	out, err := cmd.CombinedOutput()
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		line := lines.Text()
		if name, ok := strings.CutPrefix(line, "--- PASS: "); ok {
			passed = append(passed, strings.Fields(name)[0])
		}
		if strings.Contains(line, "--- FAIL: ") {
			t.Error(strings.TrimSpace(line))
		}
	}
	if err != nil {
		t.Errorf("%v; the end of the output:\n%s", err, out[max(0, len(out)-6000):])
	}
	t.Logf("%d tests passed", len(passed))
	return passed
}
