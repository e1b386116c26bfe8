//go:build interop

package interop

import (
	"bufio"
	"bytes"
	"errors"
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

// franzEdits give a busy machine time where franz-go's tests wait for what has to come.
var franzEdits = []replacement{
	{`wait\(t, 15\*time\.Second`, `wait(t, 60*time.Second`},
	{`(fail += time\.NewTimer)\(15 \* time\.Second\)`, `$1(60 * time.Second)`},
	{`(phase\dCancel := context\.WithTimeout\(ctx), 10\*time\.Second`, `$1, 60*time.Second`},
	{`(ctx, cancel = context\.WithTimeout\(context\.Background\(\)), 7\*time\.Second`, `$1, 60*time.Second`},
}

// TestFranzGoPassesItsOwnTests runs those tests of franz-go's client that ask a broker. The others are about the client alone.
func TestFranzGoPassesItsOwnTests(t *testing.T) {
	dir := copied(t, "github.com/twmb/franz-go", filepath.Join("pkg", "kgo", "*_test.go"), franzEdits)
	passed := suite(t, dir, []string{"KGO_SEEDS=" + broker(t), "KGO_TEST_RF=1", "KGO_TEST_RECORDS=50000", "KGO_LOG_LEVEL=none"},
		"-run", "^("+strings.Join(askingTests(t, filepath.Join(dir, "pkg", "kgo")), "|")+")$", "-skip", franzLeftOut.pattern(), "./pkg/kgo")
	for _, name := range []string{"TestClient_Produce", "TestConsumeTopicRetrieval", "TestIssue810", "TestPauseIssue489", "TestPing"} {
		if !slices.Contains(passed, name) {
			t.Errorf("%s did not run: is the suite pointed at the broker?", name)
		}
	}
}

// askingTests finds franz-go's tests that make a client of a broker, or a topic, by the helpers that they all use.
func askingTests(t *testing.T, dir string) (names []string) {
	t.Helper()
	asks := regexp.MustCompile(`\b(newTestClient|testClientOpts|getSeedBrokers|tmpTopic\w*)\(`)
	for _, text := range texts(t, filepath.Join(dir, "*_test.go")) {
		for _, function := range strings.Split(text, "\nfunc ") {
			if match := testFunction.FindStringSubmatch("func " + function); match != nil && asks.MatchString(function) {
				names = append(names, match[1])
			}
		}
	}
	return names
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

// replacement is an edit of a foreign suite.
type replacement struct{ old, with string }

// saramaEdits fit sarama's test environment, five containers behind proxies, to one broker without, on a busy machine.
var saramaEdits = []replacement{
	{`ReplicationFactor: *\d`, `ReplicationFactor: 1`},
	{`i <= 5; i\+\+`, `i <= 1; i++`},
	{`fmt\.Sprintf\("127\.0\.0\.1:%d", 29090\+i\)`, `os.Getenv("SARAMA_BROKER")`},
	{`topicNames := \[\]string\{"__consumer_offsets"\}`, `var topicNames []string`},
	{`minRequestLatencyInMs := 10`, `minRequestLatencyInMs := 0`}, // what the proxies add
	{`time\.After\(1[05] \* time\.Second\)`, `time.After(60 * time.Second)`},
	// Of two goroutines that open a broker at once, one may find it not connected, and a producer that is closed while it tries again
	// tells of records that fail: it is connected before.
	{`(producer, err := NewAsyncProducerFromClient\(client\)\n\tif err != nil \{\n\t\treturn err\n\t\}\n)`,
		"if leader, err := client.Leader(topic, 0); err == nil {\n\t\t_, _ = leader.Connected()\n\t}\n\t$1"},
}

func TestSaramaPassesItsFunctionalTests(t *testing.T) {
	address := broker(t, "auto.create.topics.enable=false") // as in sarama's containers
	dir := copied(t, "github.com/IBM/sarama", functionalTests, saramaEdits)
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

// functionalTests are the files of sarama's tests that ask brokers.
const functionalTests = "functional_*.go"

// copied gives a copy of a module, writable as the module cache is not, with edits in the files of a pattern. Each has to find
// something.
func copied(t *testing.T, module, pattern string, edits []replacement) (dir string) {
	t.Helper()
	source, dir := strings.TrimSpace(string(goCommand(t, ".", nil, "list", "-m", "-f", "{{.Dir}}", module))), t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(source)); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chmod(path, 0o755))
	})
	if err != nil {
		t.Fatal(err)
	}
	found := map[replacement]bool{}
	for path, text := range texts(t, filepath.Join(dir, pattern)) {
		for _, e := range edits {
			old := regexp.MustCompile(e.old)
			found[e] = found[e] || old.MatchString(text)
			text = old.ReplaceAllString(text, e.with)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range edits {
		if !found[e] {
			t.Errorf("%s is not in the tests of %s", e.old, module)
		}
	}
	return dir
}

// texts reads the files of a pattern.
func texts(t *testing.T, pattern string) map[string]string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[path] = string(text)
	}
	return all
}

var testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)

func everyFunctionalTestIsAccountedFor(t *testing.T, dir string) {
	t.Helper()
	for _, text := range texts(t, filepath.Join(dir, functionalTests)) {
		for _, match := range testFunction.FindAllStringSubmatch(text, -1) {
			if _, out := saramaLeftOut[match[1]]; !out && !slices.Contains(saramaServed, match[1]) {
				t.Errorf("%s is neither run nor left out", match[1])
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
