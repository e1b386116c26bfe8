package metadataquorum

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/internal/model"
)

// metadataTopic is the metadata log in requests.
const metadataTopic = "__cluster_metadata"

// replica is a copy of the metadata log, and what -o json shows of it. Times are in milliseconds; -1 is unknown.
type replica struct {
	ID            int32    `json:"id"`
	Directory     string   `json:"directoryId"`
	Endpoints     []string `json:"endpoints,omitempty"`
	LogEnd        int64    `json:"logEndOffset"`
	LastFetch     int64    `json:"lastFetchTimestamp"`
	LastCaughtUp  int64    `json:"lastCaughtUpTimestamp"`
	withDirectory bool     // false before KIP-853
}

// standing is the quorum as its leader sees it.
type standing struct {
	leader, epoch     int32
	highWatermark     int64
	voters, observers []replica
}

// ask gets the state of the quorum from whichever node answers: those that do not lead pass the question on.
func ask(ctx context.Context, client *connection.Client) (*standing, error) {
	req := kmsg.NewPtrDescribeQuorumRequest()
	topic := kmsg.NewDescribeQuorumRequestTopic()
	topic.Topic = metadataTopic
	topic.Partitions = append(topic.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
	req.Topics = append(req.Topics, topic)
	resp, err := connection.AskSettled(ctx, client, "describeMetadataQuorum", req.RequestWith, quorumFault)
	if err != nil {
		return nil, err
	}
	p := resp.Topics[0].Partitions[0]
	at := endpoints(resp.Nodes)
	return &standing{p.LeaderID, p.LeaderEpoch, p.HighWatermark, replicas(p.CurrentVoters, at), replicas(p.Observers, at)}, nil
}

func quorumFault(resp *kmsg.DescribeQuorumResponse) error {
	if err := kafkatext.Answer(resp.ErrorCode, resp.ErrorMessage); err != nil {
		return err
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return fmt.Errorf("DescribeMetadataQuorum received %d topics when 1 was expected", len(resp.Topics))
	}
	p := &resp.Topics[0].Partitions[0]
	return kafkatext.Answer(p.ErrorCode, p.ErrorMessage)
}

// endpoints gives the controller listeners by node, as NAME://HOST:PORT.
func endpoints(nodes []kmsg.DescribeQuorumResponseNode) map[int32][]string {
	at := map[int32][]string{}
	for _, n := range nodes {
		for _, l := range n.Listeners {
			at[n.NodeID] = append(at[n.NodeID], endpoint(l.Name, l.Host, l.Port))
		}
	}
	return at
}

// endpoint puts brackets round an IPv6 address.
func endpoint(name, host string, port uint16) string {
	return name + "://" + net.JoinHostPort(host, strconv.Itoa(int(port)))
}

func replicas(list []kmsg.DescribeQuorumResponseTopicPartitionReplicaState, at map[int32][]string) []replica {
	found := []replica{}
	for _, r := range list {
		directory := model.UUID(r.ReplicaDirectoryID)
		found = append(found, replica{r.ReplicaID, directory.String(), at[r.ReplicaID], r.LogEndOffset, r.LastFetchTimestamp,
			r.LastCaughtUpTimestamp, !directory.IsZero()})
	}
	return found
}

// leaderAmong gives the voter that leads. The words are those of Java's Optional, which the script does not catch.
func (q *standing) leaderAmong() (replica, error) {
	for _, v := range q.voters {
		if v.ID == q.leader {
			return v, nil
		}
	}
	return replica{}, fmt.Errorf("No value present")
}

// String gives a node as the status shows it: {"id": 1, "directoryId": "…", "endpoints": ["CONTROLLER://…"]}.
func (r replica) String() string {
	parts := []string{fmt.Sprintf(`"id": %d`, r.ID)}
	if r.withDirectory {
		parts = append(parts, fmt.Sprintf(`"directoryId": "%s"`, r.Directory))
	}
	if len(r.Endpoints) > 0 {
		parts = append(parts, `"endpoints": ["`+strings.Join(r.Endpoints, `", "`)+`"]`)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func list(all []replica) string {
	shown := make([]string, len(all))
	for i, r := range all {
		shown[i] = r.String()
	}
	return "[" + strings.Join(shown, ", ") + "]"
}
