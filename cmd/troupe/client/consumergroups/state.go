package consumergroups

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
)

// stateRow is a group as --state shows it.
type stateRow struct {
	Group       string `json:"group"`
	Coordinator node   `json:"coordinator"`
	Assignor    string `json:"assignmentStrategy"`
	State       string `json:"state"`
	Epoch       *int32 `json:"groupEpoch,omitempty"`
	TargetEpoch *int32 `json:"targetAssignmentEpoch,omitempty"`
	Members     int    `json:"members"`
}

// node is the broker that coordinates a group.
type node struct {
	ID   int32  `json:"id"`
	Host string `json:"host"`
	Port int32  `json:"port"`
}

// String has two blanks before the number, as the script.
func (n node) String() string { return fmt.Sprintf("%s:%d  (%d)", n.Host, n.Port, n.ID) }

// describeStates prints one line of a group: whether it works, on which broker, and with how many members.
func (c *command) describeStates(ctx context.Context, found []group) error {
	coordinators, err := c.coordinators(ctx, found)
	if err != nil {
		return inFuture(err)
	}
	rows := []stateRow{}
	for _, g := range found {
		r := stateRow{
			Group: g.id, Coordinator: coordinators[g.id], Assignor: g.assignor, State: g.state,
			Epoch: g.epoch, TargetEpoch: g.targetEpoch, Members: len(g.members),
		}
		rows = append(rows, r)
		if option.JSON(c.fs) {
			continue
		}
		if there, err := c.introduce(g); err != nil {
			return err
		} else if there {
			printState(c.streams.Out, r, c.has("verbose"))
		}
	}
	if option.JSON(c.fs) {
		return option.WriteJSON(c.streams, rows)
	}
	return nil
}

// coordinators asks for those of all groups at once (KIP-699).
func (c *command) coordinators(ctx context.Context, found []group) (map[string]node, error) {
	by := map[string]node{}
	if len(found) == 0 {
		return by, nil
	}
	req := kmsg.NewPtrFindCoordinatorRequest()
	for _, g := range found {
		req.CoordinatorKeys = append(req.CoordinatorKeys, g.id)
	}
	resp, err := connection.Ask(ctx, c.client, "describeConsumerGroups", req.RequestWith)
	if err != nil {
		return nil, err
	}
	for _, g := range resp.Coordinators {
		if err := kafkatext.Answer(g.ErrorCode, g.ErrorMessage); err != nil {
			return nil, err
		}
		by[g.Key] = node{g.NodeID, g.Host, g.Port}
	}
	return by, nil
}

// printState prints a table for each group, since the script does:
//
//	GROUP     COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE   #MEMBERS
//	payments  127.0.0.1:9092  (1)       range                Stable  2
//
// --verbose puts GROUP-EPOCH and TARGET-ASSIGNMENT-EPOCH before the count. A group that is empty or rebalances has chosen
// no strategy yet.
func printState(out io.Writer, r stateRow, verbose bool) {
	assignor := r.Assignor
	if assignor == "" {
		assignor = "-"
	}
	group := max(leastWidth, utf8.RuneCountInString(r.Group))
	coordinator := max(25, utf8.RuneCountInString(r.Coordinator.String()))
	line := func(id, at, strategy, state, epoch, target, members string) {
		if verbose {
			state = fmt.Sprintf("%-20s %-15s %-25s", state, epoch, target)
		}
		fmt.Fprintf(out, "\n%-*s %-*s %-20s %-20s %s", group, id, coordinator, at, strategy, state, members)
	}
	line("GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH", "#MEMBERS")
	line(r.Group, r.Coordinator.String(), assignor, r.State, shown(r.Epoch), shown(r.TargetEpoch), strconv.Itoa(r.Members))
	fmt.Fprintln(out)
}
