package consumergroups

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"troupe/cmd/troupe/client/groups"
	"troupe/cmd/troupe/client/option"
)

// states are those a group of consumers can be in, classic or not; the script names them in the order of a salted set.
var states = []string{"Stable", "CompletingRebalance", "Dead", "PreparingRebalance", "Reconciling", "Assigning", "Empty"}

// consumerTypes are the types that hold groups of consumers.
var consumerTypes = []string{"Classic", "Consumer"}

// list prints ids alone, or a table once --state or --type asks for more; their values are filters.
func (c *command) list(ctx context.Context) error {
	if option.Count(c.fs, "state", "type") == 0 && !option.JSON(c.fs) {
		ids, err := c.allIDs(ctx)
		if err == nil && len(ids) > 0 {
			fmt.Fprintln(c.streams.Out, strings.Join(ids, "\n"))
		}
		return err
	}
	wantedStates, err := words(&c.state, states, "state", "states")
	if err != nil {
		return err
	}
	wantedTypes, err := words(&c.kind, consumerTypes, "types", "types")
	if err != nil {
		return err
	}
	found, err := c.consumerGroups(ctx, wantedStates, wantedTypes)
	if err != nil {
		return inFuture(err)
	}
	if option.JSON(c.fs) {
		return option.WriteJSON(c.streams, found)
	}
	c.printList(found)
	return nil
}

// allIDs leaves share and streams groups out by type, which their protocols would do as well.
func (c *command) allIDs(ctx context.Context) ([]string, error) {
	found, err := c.consumerGroups(ctx, nil, consumerTypes)
	if err != nil {
		return nil, inFuture(err)
	}
	ids := make([]string, len(found))
	for i, g := range found {
		ids[i] = g.Group
	}
	return ids, nil
}

// words reads the list of an option, in any case, into the spelling of known. The script names a list of states in the
// singular and one of types in the plural.
func words(t *option.Text, known []string, list, plural string) ([]string, error) {
	text, err := t.One()
	if err != nil || strings.TrimSpace(text) == "" {
		return nil, err
	}
	var read []string
	for _, word := range strings.Split(text, ",") {
		i := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, strings.TrimSpace(word)) })
		if i < 0 {
			return nil, option.Fail("Invalid %s list '%s'. Valid %s are: %s", list, text, plural, strings.Join(known, ", "))
		}
		read = append(read, known[i])
	}
	return read, nil
}

// printList has columns of 20, and the first ten wider than the longest id, or than 15.
func (c *command) printList(found []groups.Listing) {
	width := 15
	for _, g := range found {
		width = max(width, utf8.RuneCountInString(g.Group))
	}
	row := func(id, kind, state string) {
		line := fmt.Sprintf("%-*s", width+10, id)
		if c.has("type") {
			line += fmt.Sprintf(" %-20s", kind)
		}
		if c.has("state") {
			line += fmt.Sprintf(" %-20s", state)
		}
		fmt.Fprintln(c.streams.Out, line)
	}
	row("GROUP", "TYPE", "STATE")
	for _, g := range found {
		row(g.Group, orUnknown(g.Type), orUnknown(g.State))
	}
}

// orUnknown is for brokers too old to tell (before KIP-518 and KIP-848).
func orUnknown(s string) string {
	if s == "" {
		return "Unknown"
	}
	return s
}
