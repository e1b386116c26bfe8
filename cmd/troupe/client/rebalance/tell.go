package rebalance

import (
	"fmt"

	"troupe/cluster/rebalance"
	"troupe/cmd/troupe/client/assignment"
	"troupe/cmd/troupe/client/option"
	"troupe/internal/model"
)

// document is -o json: a file for reassign-partitions.
type document struct {
	Version    int    `json:"version"`
	Partitions []move `json:"partitions"`
}

type move struct {
	Topic     string           `json:"topic"`
	Partition int32            `json:"partition"`
	Replicas  []model.BrokerID `json:"replicas"`
}

func documentOf(moves []rebalance.Move) document {
	d := document{Version: 1, Partitions: []move{}}
	for _, m := range moves {
		d.Partitions = append(d.Partitions, move{m.Topic, m.Partition, m.To})
	}
	return d
}

// tell prints a line a move and what they come to.
func tell(s option.Streams, moves []rebalance.Move, astray []model.TopicPartition) error {
	copies := 0
	for _, m := range moves {
		what := "leader"
		if added := m.Added(); len(added) > 0 {
			what = fmt.Sprintf("copied to %v", added)
			copies += len(added)
		} else if len(m.To) < len(m.From) {
			what = "dropped"
		}
		if _, err := fmt.Fprintf(s.Out, "%s\t%v -> %v\t%s\n", m.TopicPartition, m.From, m.To, what); err != nil {
			return err
		}
	}
	if len(astray) > 0 {
		fmt.Fprintf(s.Out, "partitions led by another than their first replica, which return to it: %d\n", len(astray))
	}
	if len(moves) == 0 {
		fmt.Fprintln(s.Out, "Replicas are balanced: none moves.")
		return nil
	}
	_, err := fmt.Fprintf(s.Out, "%d partitions change, %d replicas are copied.\n", len(moves), copies)
	return err
}

// targets are moves as the cluster is told of them.
func targets(moves []rebalance.Move) []assignment.Target {
	var out []assignment.Target
	for _, m := range moves {
		out = append(out, assignment.Target{TopicPartition: m.TopicPartition, Replicas: numbers(m.To)})
	}
	return out
}

func numbers(ids []model.BrokerID) []int32 {
	out := make([]int32, len(ids))
	for i, id := range ids {
		out[i] = int32(id)
	}
	return out
}
