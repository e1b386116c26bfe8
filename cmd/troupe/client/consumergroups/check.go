package consumergroups

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"

	"troupe/cmd/troupe/client/option"
)

var (
	actions   = []string{"list", "describe", "delete", "reset-offsets", "delete-offsets", "validate-regex"}
	scenarios = []string{"to-offset", "shift-by", "to-datetime", "by-duration", "to-earliest", "to-latest", "to-current", "from-file"}
)

// check refuses what the script refuses, in its order. Where the script lists options in the order of a hash table that
// changes from run to run, the list here has one order.
func (c *command) check() error {
	if err := c.available(); err != nil {
		return err
	}
	if !c.has("validate-regex") {
		if err := option.Require(c.fs, "bootstrap-server"); err != nil {
			return err
		}
	}
	hasGroups := option.Count(c.fs, "group", "all-groups") > 0
	describeValue, err := c.state.One()
	if err != nil {
		return err
	}
	switch {
	case c.has("describe") && !hasGroups:
		return takes("describe", "one of these options", "all-groups", "group")
	case c.has("describe") && option.Count(c.fs, "members", "offsets", "state") > 1:
		return takes("describe", "at most one of these options", "members", "offsets", "state")
	case c.has(lagSeconds) && option.Count(c.fs, "members", "state") > 0:
		return option.Fail("Option [lag-seconds] only goes with a description of offsets")
	case c.has("describe") && strings.TrimSpace(describeValue) != "":
		return option.Fail("Option [describe] does not take a value for [state]")
	case c.has("delete") && !hasGroups:
		return takes("delete", "one of these options", "all-groups", "group")
	case c.has("delete") && c.has("topic"):
		return option.Fail("The consumer does not support topic-specific offset deletion from a consumer group.")
	case c.has("delete-offsets") && option.Count(c.fs, "group", "topic") < 2:
		return takes("delete-offsets", "the following options", "group", "topic")
	}
	if err := c.checkReset(hasGroups); err != nil {
		return err
	}
	if err := errors.Join(option.Exclude(c.fs, "group", "all-groups", "list"),
		option.Exclude(c.fs, "topic", "list", "describe")); err != nil {
		return err
	}
	if option.Count(c.fs, actions...) != 1 {
		return option.Fail("Command must include exactly one action: --%s", strings.Join(actions, ", --"))
	}
	return nil
}

// available refuses options that only some actions have: jopt-simple's availableIf.
func (c *command) available() error {
	for _, o := range []struct {
		name string
		with []string
	}{
		{"members", []string{"describe"}}, {"verbose", []string{"describe"}}, {lagSeconds, []string{"describe"}}, {"offsets", []string{"describe"}},
		{"state", []string{"describe", "list"}}, {"type", []string{"list"}},
	} {
		if c.has(o.name) && option.Count(c.fs, o.with...) == 0 {
			return option.Fail("Option(s) [%s] are unavailable given other options on the command line", o.name)
		}
	}
	return nil
}

// checkReset wants to know whether the reset is meant, of what, and to where. Which partitions it is of is asked for once
// the group is known to be idle, as in the script.
func (c *command) checkReset(hasGroups bool) error {
	if !c.has("reset-offsets") {
		return nil
	}
	switch option.Count(c.fs, "dry-run", "execute") {
	case 2:
		return option.Fail("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
	case 0:
		fmt.Fprintln(c.streams.Err, "WARN: No action will be performed as the --execute option is missing. In version 5.0, "+
			"this command will require either --dry-run or --execute to be specified. You should add the --dry-run option "+
			"explicitly if you are scripting this command and want to keep the current default behavior without prompting.")
	}
	if !hasGroups {
		return takes("reset-offsets", "one of these options", "all-groups", "group")
	}
	for i, scenario := range scenarios {
		others := slices.Delete(slices.Clone(scenarios), i, i+1)
		if err := option.Exclude(c.fs, scenario, others...); err != nil {
			return err
		}
	}
	return nil
}

// takes is the script's complaint of options that are missing or too many together.
func takes(name, which string, others ...string) error {
	return option.Fail("Option [%s] takes %s: [%s]", name, which, strings.Join(others, "], ["))
}

// validateRegex needs no cluster: subscriptions by regular expression are matched by coordinators (KIP-848) with RE2,
// whose syntax is Go's, the names of its errors included.
func (c *command) validateRegex() error {
	text, err := c.regex.One()
	if err != nil {
		return err
	}
	_, err = syntax.Parse(text, syntax.Perl)
	var wrong *syntax.Error
	if option.JSON(c.fs) {
		return option.WriteJSON(c.streams, map[string]any{"regex": text, "valid": err == nil})
	}
	if errors.As(err, &wrong) {
		fmt.Fprintf(c.streams.Out, "The regular expression `%s` is invalid: %s.\n", text, wrong.Code)
		return nil
	}
	fmt.Fprintf(c.streams.Out, "The regular expression `%s` is valid.\n", text)
	return err
}
