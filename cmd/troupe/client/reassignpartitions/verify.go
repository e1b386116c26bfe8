package reassignpartitions

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"troupe/cmd/troupe/client/assignment"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
	"troupe/internal/model"
)

// state is how far the move of one partition is; replicas that are not there are those of a partition that is not.
type state struct {
	Partition string  `json:"partition"`
	Done      bool    `json:"done"`
	Current   []int32 `json:"currentReplicas"`
	Target    []int32 `json:"targetReplicas"`
	// LogDirs are the replicas of it for which the file names a directory.
	LogDirs []dirState `json:"logDirs,omitempty"`
}

// verify shows how far the moves of the file are. When nothing moves any more between the brokers of the whole cluster, and no
// replica of the file between directories, throttles are taken back: whose they were cannot be told.
func (c *command) verify(ctx context.Context) error {
	all, err := c.moves()
	if err != nil {
		return err
	}
	ongoing, err := assignment.Ongoing(ctx, c.client)
	if err != nil {
		return err
	}
	states, err := c.states(ctx, all, ongoing)
	if err != nil {
		return err
	}
	lines := []string{"Status of partition reassignment:"}
	for _, s := range states {
		lines = append(lines, s.String())
	}
	c.say(strings.Join(lines, "\n"))
	moves, err := c.dirStates(ctx, all)
	if err != nil {
		return err
	}
	lines = nil
	for _, m := range moves {
		lines = append(lines, m.String())
	}
	c.say(strings.Join(lines, "\n")) // the script's empty list is a blank line
	if option.JSON(c.fs) {
		for i := range states {
			for _, m := range moves {
				if m.replica.TopicPartition.String() == states[i].Partition {
					states[i].LogDirs = append(states[i].LogDirs, m)
				}
			}
		}
		if err := option.WriteJSON(c.streams, states); err != nil {
			return err
		}
	}
	if len(ongoing) > 0 || !over(moves) || c.fs.Changed("preserve-throttles") {
		return nil
	}
	return c.unlimit(ctx, all)
}

func (c *command) states(ctx context.Context, all []move, ongoing map[model.TopicPartition]assignment.Move) ([]state, error) {
	topics := []string{}
	for _, m := range all {
		if _, moving := ongoing[m.partition()]; !moving && !slices.Contains(topics, m.Topic) {
			topics = append(topics, m.Topic)
		}
	}
	found, err := assignment.Read(ctx, c.client, topics)
	if err != nil {
		return nil, err
	}
	now := map[model.TopicPartition][]int32{}
	for _, p := range found.Partitions {
		now[p.TopicPartition] = p.Replicas
	}
	states := []state{}
	for _, m := range slices.SortedFunc(slices.Values(all), func(a, b move) int { return assignment.Compare(a.partition(), b.partition()) }) {
		s := state{Partition: m.partition().String(), Done: true, Current: now[m.partition()], Target: m.Replicas}
		if moving, under := ongoing[m.partition()]; under {
			s.Done, s.Current = false, moving.Replicas
		}
		states = append(states, s)
	}
	return states, nil
}

// String gives the script's line.
func (s state) String() string {
	switch {
	case !s.Done:
		return fmt.Sprintf("Reassignment of partition %s is still in progress.", s.Partition)
	case slices.Equal(s.Current, s.Target):
		return fmt.Sprintf("Reassignment of partition %s is completed.", s.Partition)
	}
	return fmt.Sprintf("There is no active reassignment of partition %s, but replica set is %s rather than %s.", s.Partition, joined(s.Current), joined(s.Target))
}

// unlimit takes the throttles of all brokers and of the topics of the file back. A broker's are its own to take: those of one
// that is not there stay, which is said at the end, where the script waits for it until its time is over.
func (c *command) unlimit(ctx context.Context, all []move) error {
	found, err := assignment.Read(ctx, c.client, []string{})
	if err != nil {
		return err
	}
	var brokers []int32
	for _, b := range found.Brokers {
		brokers = append(brokers, b.ID)
	}
	topics := map[string]bool{}
	for _, m := range all {
		brokers = append(brokers, m.Replicas...)
		topics[m.Topic] = true
	}
	slices.Sort(brokers)
	brokers = slices.Compact(brokers)
	c.say(fmt.Sprintf("Clearing broker-level throttles on broker%s %s", plural(len(brokers)), joined(brokers)))
	away, err := assignment.UnlimitReachable(ctx, c.client, brokers)
	if err != nil {
		return err
	}
	names := kafkatext.HashOrder(slices.Sorted(maps.Keys(topics)), 0)
	c.say(fmt.Sprintf("Clearing topic-level throttles on topic%s %s", plural(len(names)), strings.Join(names, ",")))
	if err := assignment.UnlimitReplicas(ctx, c.client, names); err != nil {
		return err
	}
	if len(away) > 0 {
		return fmt.Errorf("broker%s %s cannot be reached: throttles that are set there stay; repeat this when all brokers run", plural(len(away)), joined(away))
	}
	return nil
}

// list shows every move of the cluster.
func (c *command) list(ctx context.Context) error {
	ongoing, err := assignment.Ongoing(ctx, c.client)
	if err != nil {
		return err
	}
	lines := []string{"Current partition reassignments:"}
	found := []map[string]any{}
	for _, tp := range slices.SortedFunc(maps.Keys(ongoing), assignment.Compare) {
		m := ongoing[tp]
		found = append(found, map[string]any{"partition": tp.String(), "replicas": m.Replicas, "addingReplicas": m.Adding, "removingReplicas": m.Removing})
		line := fmt.Sprintf("%s: replicas: %s.", tp, joined(m.Replicas))
		if len(m.Adding) > 0 {
			line += fmt.Sprintf(" adding: %s.", joined(m.Adding))
		}
		if len(m.Removing) > 0 {
			line += fmt.Sprintf(" removing: %s.", joined(m.Removing))
		}
		lines = append(lines, line)
	}
	switch {
	case option.JSON(c.fs):
		return option.WriteJSON(c.streams, found)
	case len(ongoing) == 0:
		lines = []string{"No partition reassignments found."}
	}
	c.say(strings.Join(lines, "\n"))
	return nil
}

// cancel takes the moves of the file back that are under way: those between directories by a move to where the replica is.
func (c *command) cancel(ctx context.Context) error {
	all, err := c.moves()
	if err != nil {
		return err
	}
	within, err := c.timeout.Int(64, 10_000)
	if err != nil {
		return err
	}
	ongoing, err := assignment.Ongoing(ctx, c.client)
	if err != nil {
		return err
	}
	var targets []assignment.Target
	for _, m := range all {
		if _, moving := ongoing[m.partition()]; moving {
			targets = append(targets, assignment.Target{TopicPartition: m.partition()})
		}
	}
	slices.SortFunc(targets, byPartition)
	if len(targets) == 0 {
		c.say("None of the specified partition reassignments are active.")
	} else if err := c.take(ctx, targets); err != nil {
		return err
	}
	moves, err := c.dirStates(ctx, all)
	if err != nil {
		return err
	}
	back := map[assignment.Replica]string{}
	for _, m := range moves {
		if m.word() == active {
			back[m.replica] = m.Current
		}
	}
	taken, err := c.moveWithin(ctx, back, within)
	switch {
	case err != nil:
		return err
	case option.JSON(c.fs):
		err = option.WriteJSON(c.streams, map[string]any{"cancelled": names(targets), "cancelledLogDirs": replicaNames(taken)})
	case len(back) == 0:
		_, err = fmt.Fprint(c.streams.Out, "None of the specified partition moves are active.") // without an end of line, as the script
	}
	if err != nil || c.fs.Changed("preserve-throttles") {
		return err
	}
	return c.unlimit(ctx, all)
}

func (c *command) take(ctx context.Context, targets []assignment.Target) error {
	failed, err := assignment.Alter(ctx, c.client, targets, true)
	if err != nil {
		return err
	}
	if len(failed) > 0 {
		return terse(fmt.Sprintf("Error cancelling partition reassignment%s for:\n%s", plural(len(failed)), failures(failed)))
	}
	c.say(fmt.Sprintf("Successfully cancelled partition reassignment%s for: %s", plural(len(targets)), strings.Join(names(targets), ",")))
	return nil
}
