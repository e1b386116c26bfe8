package consumergroups

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"troupe/cmd/troupe/client/option"
	"troupe/internal/model"
)

// memberRow is a member as --members shows it.
type memberRow struct {
	Group       string   `json:"group"`
	ConsumerID  string   `json:"consumerId"`
	InstanceID  string   `json:"groupInstanceId,omitempty"`
	Host        string   `json:"host"`
	ClientID    string   `json:"clientId"`
	Partitions  int      `json:"partitions"`
	Assignment  []string `json:"assignment"`
	Target      []string `json:"targetAssignment,omitempty"`
	Epoch       *int32   `json:"currentEpoch,omitempty"`
	TargetEpoch *int32   `json:"targetEpoch,omitempty"`
	Upgraded    *bool    `json:"upgraded,omitempty"`
}

// members prints who is in a group, with --verbose also what each has.
func (c *command) members(found []group) error {
	all := []memberRow{}
	for _, g := range found {
		rows := memberRows(g)
		all = append(all, rows...)
		if option.JSON(c.fs) {
			continue
		}
		if _, err := c.introduce(g); err != nil {
			return err
		}
		// The script prints the header of a group without members, too.
		printMembers(c.streams.Out, rows, c.has("verbose"))
	}
	if option.JSON(c.fs) {
		return option.WriteJSON(c.streams, all)
	}
	return nil
}

// memberRows keep the coordinator's order, which is none: the script does not sort them either.
func memberRows(g group) []memberRow {
	rows := make([]memberRow, len(g.members))
	for i, m := range g.members {
		rows[i] = memberRow{
			Group: g.id, ConsumerID: m.id, InstanceID: m.instance, Host: m.host, ClientID: m.clientID, Partitions: len(m.assigned),
			Assignment: grouped(m.assigned), Target: grouped(m.target), Epoch: m.epoch, TargetEpoch: g.targetEpoch, Upgraded: m.upgraded,
		}
	}
	return rows
}

// grouped writes partitions topic by topic, "orders:0,2".
func grouped(partitions []model.TopicPartition) []string {
	texts := []string{}
	topics := byTopic(slices.SortedFunc(slices.Values(partitions), model.TopicPartition.Compare))
	for topic, numbers := range topics {
		written := make([]string, len(numbers))
		for i, n := range numbers {
			written[i] = strconv.Itoa(int(n))
		}
		texts = append(texts, topic+":"+strings.Join(written, ","))
	}
	slices.Sort(texts)
	return texts
}

// joined is an assignment as one column; a member without partitions has a dash there.
func joined(texts []string) string {
	if len(texts) == 0 {
		return "-"
	}
	return strings.Join(texts, ";")
}

// memberWidths are those of the columns that grow with what is in them.
type memberWidths struct {
	group, consumer, instance, host, client, current, target int

	instances bool // some member has an instance id: only then there is a column for it (KIP-345)
	migrating bool // members of both protocols: only then a column tells them apart
}

// widthsOf looks at every row, since a header is printed before them. The least widths are the script's.
func widthsOf(rows []memberRow) memberWidths {
	w := memberWidths{group: 15, consumer: 15, instance: 17, host: 15, client: 15, current: 20, target: 20}
	var classic, upgraded bool
	for _, r := range rows {
		w.group = max(w.group, utf8.RuneCountInString(r.Group))
		w.consumer = max(w.consumer, utf8.RuneCountInString(r.ConsumerID))
		w.instance = max(w.instance, utf8.RuneCountInString(r.InstanceID))
		w.host = max(w.host, utf8.RuneCountInString(r.Host))
		w.client = max(w.client, utf8.RuneCountInString(r.ClientID))
		w.current = max(w.current, len(joined(r.Assignment)))
		w.target = max(w.target, len(joined(r.Target)))
		w.instances = w.instances || r.InstanceID != ""
		classic = classic || r.Upgraded != nil && !*r.Upgraded
		upgraded = upgraded || r.Upgraded != nil && *r.Upgraded
	}
	w.migrating = classic && upgraded
	return w
}

// printMembers prints, for one group:
//
//	GROUP     CONSUMER-ID    [GROUP-INSTANCE-ID]  HOST        CLIENT-ID  #PARTITIONS
//	payments  app-24794ae7…  [app-1]              /127.0.0.1  app        3
//
// and with --verbose behind it:
//
//	CURRENT-EPOCH  CURRENT-ASSIGNMENT    TARGET-EPOCH  TARGET-ASSIGNMENT  [UPGRADED]
//	-              orders:0,1;refunds:0  -             -                  [true]
//
// Only groups of the consumer protocol have epochs and targets. Each row keeps the blank behind its last column, with
// which the script joins the two parts.
func printMembers(out io.Writer, rows []memberRow, verbose bool) {
	w := widthsOf(rows)
	line := func(id, consumer, instance, host, client, partitions string, more ...string) {
		fmt.Fprintf(out, "%-*s %-*s ", w.group, id, w.consumer, consumer)
		if w.instances {
			fmt.Fprintf(out, "%-*s ", w.instance, instance)
		}
		fmt.Fprintf(out, "%-*s %-*s %-15s ", w.host, host, w.client, client, partitions)
		if verbose {
			fmt.Fprintf(out, "%-15s %-*s %-15s %-*s", more[0], w.current, more[1], more[2], w.target, more[3])
		}
		if verbose && w.migrating {
			fmt.Fprintf(out, " %s", more[4])
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out)
	line("GROUP", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID", "#PARTITIONS",
		"CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT", "UPGRADED")
	for _, r := range rows {
		line(r.Group, r.ConsumerID, r.InstanceID, r.Host, r.ClientID, strconv.Itoa(r.Partitions),
			shown(r.Epoch), joined(r.Assignment), shown(r.TargetEpoch), joined(r.Target), shown(r.Upgraded))
	}
}
