package reassignpartitions

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"troupe/cmd/troupe/client/assignment"
)

// dirState is how far the move of a replica to another log directory is.
type dirState struct {
	replica assignment.Replica
	assignment.Directory
	target string
}

// What becomes of a replica for which a directory is named, in words of JSON.
const (
	missing   = "missing" // in no directory that works
	active    = "active"
	completed = "completed"
	cancelled = "cancelled" // in another directory, and not on its way
)

func (s dirState) word() string {
	switch {
	case s.Current == "":
		return missing
	case s.Future != "":
		return active
	case s.Current == s.target:
		return completed
	}
	return cancelled
}

// String gives the script's line.
func (s dirState) String() string {
	r := s.replica
	switch s.word() {
	case missing:
		return fmt.Sprintf("Partition %s is not found in any live log dir on broker %d. There is likely an offline log directory on the broker.", r.TopicPartition, r.Broker)
	case active:
		if s.Future == s.target {
			return fmt.Sprintf("Reassignment of replica %s is still in progress.", r)
		}
		return fmt.Sprintf("Partition %s on broker %d is being moved to log dir %s instead of %s.", r.TopicPartition, r.Broker, s.Future, s.target)
	case completed:
		return fmt.Sprintf("Reassignment of replica %s completed successfully.", r)
	}
	return fmt.Sprintf("Partition %s on broker %d is not being moved from log dir %s to %s.", r.TopicPartition, r.Broker, s.Current, s.target)
}

// MarshalJSON names what String describes.
func (s dirState) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Broker  int32  `json:"broker"`
		State   string `json:"state"`
		Current string `json:"current"`
		Future  string `json:"future,omitempty"`
		Target  string `json:"target"`
	}{s.replica.Broker, s.word(), s.Current, s.Future, s.target})
}

// over tells whether none of the moves may still come to something.
func over(moves []dirState) bool {
	return !slices.ContainsFunc(moves, func(m dirState) bool { return m.word() == active || m.word() == missing })
}

// dirStates asks how far the replicas are for which the file names directories.
func (c *command) dirStates(ctx context.Context, all []move) (states []dirState, err error) {
	targets := named(all)
	replicas := slices.SortedFunc(maps.Keys(targets), assignment.CompareReplicas)
	found, err := assignment.Directories(ctx, c.client, replicas)
	if err != nil {
		return nil, err
	}
	for _, r := range replicas {
		states = append(states, dirState{r, found[r], targets[r]})
	}
	return states, nil
}

// askAgainAfter is the pause before replicas are asked for again that were not on their brokers yet.
const askAgainAfter = 100 * time.Millisecond

// moveWithin begins moves to other log directories. A replica that comes to its broker by a reassignment is there in a while:
// until then its broker is asked again.
func (c *command) moveWithin(ctx context.Context, to map[assignment.Replica]string, timeoutMs int64) (begun []assignment.Replica, err error) {
	deadline := time.Now().Add(time.Duration(timeoutMs) * time.Millisecond)
	left := maps.Clone(to)
	for len(left) > 0 {
		started, err := assignment.AlterDirectories(ctx, c.client, left)
		if err != nil {
			return nil, err
		}
		for _, r := range started {
			c.say(fmt.Sprintf("Successfully started moving log directory to %s for replica %s with broker %d ", left[r], r.TopicPartition, r.Broker))
			delete(left, r)
		}
		begun = append(begun, started...)
		if len(left) == 0 {
			break
		}
		if !time.Now().Before(deadline) {
			late := replicaNames(slices.SortedFunc(maps.Keys(left), assignment.CompareReplicas))
			return nil, terse(fmt.Sprintf("Timed out before log directory move%s could be started for: %s", plural(len(left)), strings.Join(late, ",")))
		}
		select {
		case <-time.After(askAgainAfter):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return begun, nil
}

func replicaNames(replicas []assignment.Replica) []string {
	out := make([]string, len(replicas))
	for i, r := range replicas {
		out[i] = r.String()
	}
	return out
}
