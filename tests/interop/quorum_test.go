//go:build interop

package interop

import (
	"regexp"
	"strings"
	"testing"

	"troupe/tests/kafka"
	"troupe/tests/node"
)

// A quorum of one as metadata-quorum shows it. Offsets and times differ from run to run; a combined node of Kafka 4.3.1
// gives the same lines.
func TestKafkasQuorumToolDescribesTheQuorum(t *testing.T) {
	n := node.Start(t, node.Options{})
	for args, want := range map[string]string{
		"--status": `ClusterId:\s+\S{22}\nLeaderId:\s+1\nLeaderEpoch:\s+\d+\nHighWatermark:\s+\d+\n` +
			`MaxFollowerLag:\s+0\nMaxFollowerLagTimeMs:\s+0\n` +
			`CurrentVoters:\s+\[\{"id": 1, "directoryId": "\S{22}", "endpoints": \["PLAINTEXT://127\.0\.0\.1:\d+"\]\}\]\n` +
			`CurrentObservers:\s+\[\]\n`,
		"--replication": `NodeId\s+DirectoryId\s+LogEndOffset\s+Lag\s+LastFetchTimestamp\s+LastCaughtUpTimestamp\s+Status\s*\n` +
			`1\s+\S{22}\s+\d+\s+0\s+\d{13}\s+\d{13}\s+Leader\s*\n`,
	} {
		r := kafka.Tool(t, "metadata-quorum", "", append([]string{"--bootstrap-server", n.Bootstrap}, strings.Fields("describe "+args)...)...)
		if r.Code != 0 || !regexp.MustCompile(`\A`+want+`\z`).MatchString(r.Stdout) {
			t.Errorf("describe %s: %v\nwant %q", args, r, want)
		}
	}
}
