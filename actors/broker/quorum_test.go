package broker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestTheQuorumIsDescribedWithTheListenersOfItsController(t *testing.T) {
	for title, c := range map[string]struct {
		set  []string
		want string
	}{
		"one listener for all": {nil, "PLAINTEXT"},
		"one of its own": {[]string{
			"listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0", "controller.listener.names=CONTROLLER", "process.roles=broker,controller",
		}, "CONTROLLER"},
	} {
		t.Run(title, func(t *testing.T) {
			n := newNode(t, 1, c.set...)
			for range 2 { // each incarnation tells its own ports
				n.start()
				var want []string
				for _, s := range n.sockets {
					if s.Name == c.want {
						want = append(want, fmt.Sprintf("%s://%s", s.Name, s.Advertised))
					}
				}
				req := kmsg.NewPtrDescribeQuorumRequest()
				req.Version = 2
				req.Topics = []kmsg.DescribeQuorumRequestTopic{{
					Topic: "__cluster_metadata", Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{Partition: 0}},
				}}
				resp, err := dial(t, n.address()).call(req)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, node := range resp.(*kmsg.DescribeQuorumResponse).Nodes {
					if node.NodeID != 1 {
						t.Errorf("node %d is no voter", node.NodeID)
					}
					for _, l := range node.Listeners {
						got = append(got, fmt.Sprintf("%s://%s:%d", l.Name, l.Host, l.Port))
					}
				}
				if strings.Join(got, ",") != strings.Join(want, ",") {
					t.Errorf("listeners %v, want %v", got, want)
				}
				n.stopClean()
			}
		})
	}
}
