// Package option gives commands the option rules of Kafka's scripts, on top of pflag: an option that takes one value
// refuses a second, long options may be written with one dash, and what goes wrong is said in the scripts' words.
package option

import (
	"fmt"
	"strconv"

	"github.com/spf13/pflag"
)

// Text is an option whose values are kept as they were written, in order. Whether there may be several, and whether
// they are numbers, is decided where they are read, as in Kafka's scripts: some errors depend on the order of checks.
type Text struct {
	name    string
	hint    string // stands for the value in the help
	def     string
	without string // the value when the option has none; empty where it must have one
	values  []string
}

// Given tells whether the option is on the command line.
func (t *Text) Given() bool { return len(t.values) > 0 }

// All gives every value in order.
func (t *Text) All() []string { return t.values }

// One gives the only value, or the default. A second value is an error.
func (t *Text) One() (string, error) {
	switch len(t.values) {
	case 0:
		return t.def, nil
	case 1:
		return t.values[0], nil
	}
	return "", fmt.Errorf("Found multiple arguments for option %s, but you asked for only one", t.name)
}

// Last gives the last value, or the default: the rule of the scripts whose parser overwrites.
func (t *Text) Last() string {
	if len(t.values) == 0 {
		return t.def
	}
	return t.values[len(t.values)-1]
}

// Int reads One as a number of the given bits; def is returned when the option is absent and has no default.
func (t *Text) Int(bits int, def int64) (int64, error) {
	s, err := t.One()
	if err != nil || s == "" && !t.Given() {
		return def, err
	}
	n, err := strconv.ParseInt(s, 10, bits)
	if err != nil {
		return 0, fmt.Errorf("Cannot parse argument '%s' of option %s", s, t.name)
	}
	return n, nil
}

// String, Set and Type make Text a pflag.Value.
func (t *Text) String() string { return t.def }

// Set keeps one more value.
func (t *Text) Set(s string) error {
	t.values = append(t.values, s)
	return nil
}

// Type is what pflag shows for the value.
func (t *Text) Type() string { return t.hint }

// Var defines an option that takes a value; hint stands for it in the help.
func Var(fs *pflag.FlagSet, t *Text, name, hint, usage string) {
	Default(fs, t, name, hint, "", usage)
}

// Default is Var with a default value.
func Default(fs *pflag.FlagSet, t *Text, name, hint, def, usage string) {
	t.name, t.hint, t.def = name, hint, def
	fs.Var(t, name, usage)
}

// Optional defines an option whose value may be left out, and is then without. Normalize puts it in: pflag could do that
// too, but would show it in the help, where a marker of the caller's tells nothing.
func Optional(fs *pflag.FlagSet, t *Text, name, hint, without, usage string) {
	Var(fs, t, name, "["+hint+"]", usage)
	t.without = without
}

// Short is Var with a one-letter form.
func Short(fs *pflag.FlagSet, t *Text, name, letter, hint, usage string) {
	t.name, t.hint = name, hint
	fs.VarP(t, name, letter, usage)
}
