package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"troupe/tests/node"
)

// tool runs a client command of the binary, and gives all that it prints, and its exit code.
func tool(t *testing.T, args ...string) (string, int) {
	t.Helper()
	binary, err := node.Binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary, args...)
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// expectTool checks the exit code, and that what is printed has the texts.
func expectTool(t *testing.T, code int, texts []string, args ...string) string {
	t.Helper()
	said, got := tool(t, args...)
	if got != code {
		t.Errorf("%s: exit code %d, want %d:\n%s", strings.Join(args, " "), got, code, said)
	}
	for _, text := range texts {
		if !strings.Contains(said, text) {
			t.Errorf("%s: it does not say %q:\n%s", strings.Join(args, " "), text, said)
		}
	}
	return said
}

func TestTheToolsOfAnOperatorNameWhatIsNotThere(t *testing.T) {
	c := node.StartCluster(t, node.ClusterOptions{Dynamic: true})
	lead := c.Controller()
	var gone *node.Node
	for _, n := range c.Nodes {
		if n != lead {
			gone = n
		}
	}
	at := []string{"--bootstrap-server", lead.Bootstrap}
	// Kafka 4.3.1's own configs tool gives this answer.
	expectTool(t, 1, []string{"UnsupportedEndpointTypeException: This Admin API is not yet supported when communicating directly with the controller quorum."},
		"configs", "--bootstrap-controller", lead.Controller, "--describe", "--entity-type", "topics")
	// So do its tools where the port of a controller is taken for that of a broker.
	for _, asked := range [][]string{{"topics", "--list"}, {"reassign-partitions", "--list"}, {"leader-election", "--election-type", "preferred", "--all-topic-partitions"}, {"rebalance"}} {
		expectTool(t, 1, []string{"The node does not support METADATA"}, append(asked, "--bootstrap-server", lead.Controller)...)
	}

	status := expectTool(t, 0, nil, append([]string{"metadata-quorum", "describe", "--status"}, at...)...)
	voter := regexp.MustCompile(`"id": (\d), "directoryId": "([^"]+)"`).FindAllStringSubmatch(status, -1)
	if len(voter) != 3 {
		t.Fatalf("the voters are %q", voter)
	}
	expectTool(t, 1, []string{
		"VoterNotFoundException", "Controller 9 with directory id " + voter[0][2] + " has no vote: it was removed before, or never had one. Those that vote: " + voter[0][1] + " with directory id " + voter[0][2],
	}, append([]string{"metadata-quorum", "remove-controller", "--controller-id", "9", "--controller-directory-id", voter[0][2]}, at...)...)

	expectTool(t, 0, nil, append([]string{"topics", "--create", "--topic", "t", "--replication-factor", "3", "--partitions", "1"}, at...)...)
	file := filepath.Join(t.TempDir(), "moves.json")
	if err := os.WriteFile(file, []byte(`{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2,3]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	gone.Kill()
	// While the brokers still name it, and when they do not any more.
	for range 2 {
		expectTool(t, 1, []string{
			"Clearing broker-level throttles on brokers 1,2,3\n", "Clearing topic-level throttles on topic t\n",
			fmt.Sprintf("Error: broker %d cannot be reached: throttles that are set there stay", gone.ID),
		}, append([]string{"reassign-partitions", "--verify", "--reassignment-json-file", file}, at...)...)
		c.AwaitServing()
	}
	// Kafka's tools find the next controller, too.
	expectTool(t, 0, []string{"LeaderId:"}, "metadata-quorum", "--bootstrap-controller", gone.Controller+","+lead.Controller, "describe", "--status")
}
