package consumergroups

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"
	"unicode/utf8"

	"troupe/cmd/troupe/client/option"
	"troupe/internal/model"
)

// row is a partition of a group. A nil prints as a dash: what is not committed, not known, or nobody's.
type row struct {
	Group       string  `json:"group"`
	Topic       string  `json:"topic"`
	Partition   int32   `json:"partition"`
	LeaderEpoch *int32  `json:"leaderEpoch"`
	Offset      *int64  `json:"currentOffset"`
	End         *int64  `json:"logEndOffset"`
	Lag         *int64  `json:"lag"`
	ConsumerID  *string `json:"consumerId"`
	Host        *string `json:"host"`
	ClientID    *string `json:"clientId"`
}

// offsets prints the partitions of groups, those with an owner first.
func (c *command) offsets(ctx context.Context, found []group) error {
	all := []row{}
	allAged := []agedRow{}
	for _, g := range found {
		rows, err := c.rows(ctx, g)
		if err != nil {
			return inRuntime(err)
		}
		all = append(all, rows...)
		var aged []agedRow
		if c.has(lagSeconds) {
			if aged, err = c.aged(ctx, rows, time.Now()); err != nil {
				return inRuntime(err)
			}
			allAged = append(allAged, aged...)
		}
		if option.JSON(c.fs) {
			continue
		}
		if there, err := c.introduce(g); err != nil {
			return err
		} else if there && len(rows) > 0 {
			printRows(c.streams.Out, rows, aged, c.has("verbose"))
		}
	}
	switch {
	case option.JSON(c.fs) && c.has(lagSeconds):
		return option.WriteJSON(c.streams, allAged)
	case option.JSON(c.fs):
		return option.WriteJSON(c.streams, all)
	}
	return nil
}

// rows of a group: its members by how many partitions they have, then what is committed and nobody's.
func (c *command) rows(ctx context.Context, g group) ([]row, error) {
	commits, err := c.committed(ctx, g.id)
	if err != nil {
		return nil, err
	}
	rows, owned := ownedRows(g)
	var rest []model.TopicPartition
	for tp := range commits {
		if !owned[tp] {
			rest = append(rest, tp)
		}
	}
	slices.SortFunc(rest, model.TopicPartition.Compare)
	for _, tp := range rest {
		rows = append(rows, row{Group: g.id, Topic: tp.Topic, Partition: tp.Partition})
	}
	ends, err := c.ends(ctx, rows)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		r := &rows[i]
		tp := model.TopicPartition{Topic: r.Topic, Partition: r.Partition}
		if at, ok := commits[tp]; ok {
			r.Offset = &at.offset
			if at.epoch >= 0 {
				r.LeaderEpoch = &at.epoch
			}
		}
		if end, ok := ends[tp]; ok {
			r.End = &end
		}
		if r.Offset != nil && r.End != nil {
			lag := *r.End - *r.Offset
			r.Lag = &lag
		}
	}
	return rows, nil
}

// ownedRows gives the rows of partitions that have an owner, with the owners' partitions side by side. Members of equally
// many partitions stay in the coordinator's order.
func ownedRows(g group) ([]row, map[model.TopicPartition]bool) {
	members := slices.Clone(g.members)
	slices.SortStableFunc(members, func(a, b member) int { return cmp.Compare(len(b.assigned), len(a.assigned)) })
	var rows []row
	owned := map[model.TopicPartition]bool{}
	for _, m := range members {
		for _, tp := range slices.SortedFunc(slices.Values(m.assigned), model.TopicPartition.Compare) {
			owned[tp] = true
			rows = append(rows, row{
				Group: g.id, Topic: tp.Topic, Partition: tp.Partition, ConsumerID: &m.id, Host: &m.host, ClientID: &m.clientID,
			})
		}
	}
	return rows, owned
}

// ends gives the log ends of partitions that have a leader: one without has no end that anybody could tell, and asking
// for it would take until the timeout. A topic deleted since is like that, too.
func (c *command) ends(ctx context.Context, rows []row) (map[model.TopicPartition]int64, error) {
	var partitions, led []model.TopicPartition
	for _, r := range rows {
		partitions = append(partitions, model.TopicPartition{Topic: r.Topic, Partition: r.Partition})
	}
	leaders, _, err := c.leaders(ctx, topicsOf(partitions))
	if err != nil {
		return nil, err
	}
	for _, tp := range partitions {
		if leader, ok := leaders[tp]; ok && leader >= 0 {
			led = append(led, tp)
		}
	}
	found, err := c.offsetsAt(ctx, led, latest)
	if err != nil {
		return nil, err
	}
	ends := map[model.TopicPartition]int64{}
	for tp, p := range found {
		if p.err != nil {
			return nil, p.err
		}
		ends[tp] = p.offset
	}
	return ends, nil
}

// shown is the text of a column.
func shown[T any](v *T) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprint(*v)
}

// leastWidth is that of columns that grow with what is in them.
const leastWidth = 15

// printRows prints, for one group:
//
//	GROUP     TOPIC   PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID     HOST        CLIENT-ID
//	payments  orders  0          5               9               4    app-24794ae7…   /127.0.0.1  app
//	payments  orders  1          -               3               -    -               -           -
//
// Columns end where the longest text of the group does, or at their least width, so programs that cut them by position
// must look at the header. --verbose puts LEADER-EPOCH before the offsets; aged, where ages are asked for, puts LAG-SECONDS
// after the lag. Hosts begin with the slash that brokers put
// before an address without a name.
func printRows(out io.Writer, rows []row, aged []agedRow, verbose bool) {
	group, topic, consumer, host := leastWidth, leastWidth, leastWidth, leastWidth
	for _, r := range rows {
		group = max(group, utf8.RuneCountInString(r.Group))
		topic = max(topic, len(r.Topic))
		consumer = max(consumer, utf8.RuneCountInString(shown(r.ConsumerID)))
		host = max(host, utf8.RuneCountInString(shown(r.Host)))
	}
	// The line ends before each row and not behind it, as in the script: a table begins with an empty line.
	line := func(id, name, partition, epoch, offset, end, lag, age, owner, at, client string) {
		if verbose {
			partition = fmt.Sprintf("%-10s %-15s", partition, epoch)
		}
		if aged != nil {
			lag = fmt.Sprintf("%-15s %-15s", lag, age)
		}
		fmt.Fprintf(out, "\n%-*s %-*s %-10s %-15s %-15s %-15s %-*s %-*s %s",
			group, id, topic, name, partition, offset, end, lag, consumer, owner, host, at, client)
	}
	line("GROUP", "TOPIC", "PARTITION", "LEADER-EPOCH", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "LAG-SECONDS", "CONSUMER-ID", "HOST", "CLIENT-ID")
	for i, r := range rows {
		age := ""
		if aged != nil {
			age = aged[i].text()
		}
		line(r.Group, r.Topic, fmt.Sprint(r.Partition), shown(r.LeaderEpoch), shown(r.Offset), shown(r.End), shown(r.Lag), age,
			shown(r.ConsumerID), shown(r.Host), shown(r.ClientID))
	}
	fmt.Fprintln(out)
}
