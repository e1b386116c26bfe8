// Package assign divides the partitions of topics among the members of a consumer group, as the coordinator does for
// groups of the consumer protocol (KIP-848). It is pure: the same input gives the same assignment, on every broker.
//
// Requirements: facts/groups-txn.md, C.
package assign

import (
	"slices"

	"troupe/internal/model"
)

// Member is a member of a group, as an assignor sees it.
type Member struct {
	ID             string
	Instance, Rack *string
	// Topics are those that it is subscribed to, sorted by id. One that Input.Topics lacks is passed over.
	Topics []model.TopicID
	// Current is its part of the last target. It may hold what is no more: topics, partitions, subscriptions.
	Current map[model.TopicID][]int32
}

// Topic is a topic that somebody is subscribed to.
type Topic struct {
	ID         model.TopicID
	Partitions int
	// Racks are those with a replica, by partition; shorter than Partitions where they are not known.
	Racks [][]string
}

// Input is what an assignment follows from.
type Input struct {
	Members []Member // sorted by id
	Topics  map[model.TopicID]Topic
}

// Assignment has an entry for each member, by id, with its partitions in rising order.
//
// Invariants, kept by each Assignor:
//  1. a partition has exactly one owner if anybody is subscribed to its topic, and none otherwise;
//  2. a member owns only partitions of topics that it is subscribed to.
type Assignment map[string]map[model.TopicID][]int32

// Assignor is a way to divide. Its name is what members ask for and group.consumer.assignors lists.
type Assignor interface {
	Name() string
	Assign(Input) Assignment
}

// ByName finds an assignor; false where the answer is UNSUPPORTED_ASSIGNOR.
func ByName(name string) (Assignor, bool) {
	for _, a := range []Assignor{uniformAssignor{}, rangeAssignor{}} {
		if a.Name() == name {
			return a, true
		}
	}
	return nil, false
}

// empty gives every member an entry.
func empty(in Input) Assignment {
	out := make(Assignment, len(in.Members))
	for _, m := range in.Members {
		out[m.ID] = make(map[model.TopicID][]int32, len(m.Current))
	}
	return out
}

// existing gives the topics of all subscriptions that there are, sorted by id.
func existing(in Input) []Topic {
	out := make([]Topic, 0, len(in.Topics))
	for _, t := range in.Topics {
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b Topic) int { return a.ID.Compare(b.ID) })
	return out
}
