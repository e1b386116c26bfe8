package api

import (
	"fmt"
	"strings"

	"troupe/cluster/image"
)

// Warning is something that works, and will hurt: the text says what, Mend the command that ends it.
type Warning struct {
	Text string `json:"text"`
	Mend string `json:"mend"`
}

// internalTopics are those that coordinators keep their state in.
var internalTopics = []string{OffsetsTopic, "__transaction_state", "__share_group_state"}

// Warnings are those of the cluster, as this broker's metadata has it. Internal topics that were made while there was one broker
// have one replica: whatever else is replicated, the loss of that broker takes them along.
func (n *Node) Warnings() []Warning {
	i := n.Image()
	if i.BrokerCount() < 2 {
		return nil
	}
	var lone []string
	for _, name := range internalTopics {
		if t, ok := i.Topic(name); ok && hasLone(t) {
			lone = append(lone, name)
		}
	}
	if len(lone) == 0 {
		return nil
	}
	return []Warning{{
		Text: fmt.Sprintf("partitions of %s have one replica in a cluster of %d brokers: the loss of one broker loses what they hold", strings.Join(lone, " and "), i.BrokerCount()),
		Mend: fmt.Sprintf("troupe rebalance --bootstrap-server %s --execute", n.bootstrap()),
	}}
}

func hasLone(t *image.Topic) bool {
	for _, p := range t.Partitions {
		if len(p.Replicas)-len(p.Adding) == 1 {
			return true
		}
	}
	return false
}

// bootstrap is where this broker's clients find it.
func (n *Node) bootstrap() string {
	if b, ok := n.Image().Broker(n.ID); ok {
		for _, e := range b.Endpoints {
			if e.Name != n.Config.InterBroker || len(b.Endpoints) == 1 {
				return fmt.Sprintf("%s:%d", e.Host, e.Port)
			}
		}
	}
	return "HOST:PORT"
}
