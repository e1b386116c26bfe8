package consumergroups

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"troupe/internal/model"
)

// exportCSV writes topic, partition and offset, behind the group unless the command names exactly one. There is an empty
// line behind the last, as from the script.
func exportCSV(out io.Writer, all []target, oneGroup bool) {
	for _, t := range all {
		line := fmt.Sprintf("%s,%d,%d", quoted(t.Topic), t.Partition, t.Offset)
		if !oneGroup {
			line = quoted(t.Group) + "," + line
		}
		fmt.Fprintln(out, line)
	}
	fmt.Fprintln(out)
}

// Jackson, which writes the script's CSV, quotes what is longer than it cares to look at, and what has a character up to
// the comma, which its separators are among.
const (
	longestUnquoted = 24
	greatestQuoted  = ','
)

func quoted(s string) string {
	special := func(r rune) bool { return r <= greatestQuoted }
	if utf8.RuneCountInString(s) <= longestUnquoted && !strings.ContainsFunc(s, special) {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

// fromFile gives the offsets that the file has for a group.
func (c *command) fromFile(ctx context.Context, id string) (wished, error) {
	path, err := c.inFile.One()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("java.io.IOException: Unable to read file %s", path)
	}
	only := ""
	if ids := c.group.All(); len(ids) == 1 {
		only = ids[0]
	}
	plans, err := parsePlan(string(text), only)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	plan, ok := plans[id]
	if !ok {
		return wished{}, c.complain("No reset plan for group " + id + " found.")
	}
	return c.within(ctx, plan)
}

// parsePlan reads what exportCSV writes, by group. Without a group column everything is for only; the first line tells
// which of the two it is, and the others must be like it.
//
// The file has a line for each partition and no header:
//
//	orders,0,9            of the one group that --group names
//	payments,orders,0,9   of any
func parsePlan(text, only string) (map[string]wished, error) {
	r := csv.NewReader(strings.NewReader(text))
	r.TrimLeadingSpace = true
	records, err := r.ReadAll()
	if err != nil {
		return nil, err
	}
	plans := map[string]wished{}
	for i, record := range records {
		if len(record) == 3 && only != "" {
			record = append([]string{only}, record...)
		}
		if len(record) != 4 {
			return nil, fmt.Errorf("line %d has %d columns, not topic, partition and offset behind a group", i+1, len(record))
		}
		partition, err := strconv.ParseInt(record[2], 10, 32)
		if err != nil {
			return nil, fmt.Errorf("line %d: %s is not a number of a partition", i+1, record[2])
		}
		offset, err := strconv.ParseInt(record[3], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("line %d: %s is not an offset", i+1, record[3])
		}
		if plans[record[0]] == nil {
			plans[record[0]] = wished{}
		}
		plans[record[0]][model.TopicPartition{Topic: record[1], Partition: int32(partition)}] = offset
	}
	return plans, nil
}

// printTargets prints a header even when every group was refused, but not when there was none to begin with.
//
//	GROUP     TOPIC   PARTITION  NEW-OFFSET
//	payments  orders  0          9
//
// A dry run and an execution print the same.
func printTargets(out io.Writer, ids []string, all []target) {
	group, topic := leastWidth, leastWidth
	for _, id := range ids {
		group = max(group, utf8.RuneCountInString(id))
	}
	for _, t := range all {
		topic = max(topic, len(t.Topic))
	}
	line := func(id, name, partition, offset string) {
		fmt.Fprintf(out, "\n%-*s %-*s %-10s %s", group, id, topic, name, partition, offset)
	}
	if len(ids) > 0 {
		line("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET")
	}
	for _, t := range all {
		line(t.Group, t.Topic, strconv.Itoa(int(t.Partition)), strconv.FormatInt(t.Offset, 10))
	}
	fmt.Fprintln(out)
}
