package option

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// kafkaVersion is what `--version` of a script prints: the version whose texts and options are followed.
const kafkaVersion = "4.3.1"

// Tool is one of Kafka's scripts, or one of the commands of a script.
type Tool interface {
	// Define adds the script's options.
	Define(fs *pflag.FlagSet)
	// Run works with the options as parsed. Its error is a *Failure, or is printed and ends with code 1.
	Run(ctx context.Context, fs *pflag.FlagSet, s Streams) error
}

// Complainer is a tool whose script has its own way to say that options cannot be parsed: Kafka's scripts use two parsers,
// and some put a line of their own before the parser's.
type Complainer interface{ Complain(err error) error }

// Command wraps a tool. Without any argument it explains itself and fails, like the scripts.
func Command(name, short string, s Streams, t Tool) *cobra.Command {
	c := Subcommand(name, short, s, t)
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) > 0 || c.Flags().NFlag() > 0 {
			return run(c, args)
		}
		c.SetOut(s.Err)
		if err := c.Help(); err != nil {
			return err
		}
		return Silent()
	}
	return c
}

// Subcommand wraps a tool that may be called without options.
func Subcommand(name, short string, s Streams, t Tool) *cobra.Command {
	c := &cobra.Command{
		Use: name, Short: short, Version: kafkaVersion, Args: cobra.ArbitraryArgs,
		SilenceUsage: true, SilenceErrors: true,
	}
	fs := c.Flags()
	// The help keeps the order in which Define names them.
	fs.SortFlags = false
	t.Define(fs)
	// kafka-log-dirs has an option of that name with another meaning.
	if fs.Lookup("broker-list") == nil {
		fs.SetNormalizeFunc(oldNames)
	}
	fs.StringP("output", "o", "text", "text or json")
	c.SetVersionTemplate("{{.Version}}\n")
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if complainer, ok := t.(Complainer); ok {
			return complainer.Complain(err)
		}
		return Fail("%s", Error(err))
	})
	c.RunE = func(c *cobra.Command, args []string) error {
		// This option is Troupe's own; the scripts have none like it.
		if format, err := fs.GetString("output"); err != nil || format != "text" && format != "json" {
			return Fail("Cannot parse argument '%s' of option output: text or json", format)
		}
		return t.Run(c.Context(), fs, s)
	}
	return c
}

// Group is a script with commands of its own. shared are options that may stand before the command, misuse says what
// is wrong with the command line.
func Group(name, short string, shared func(*pflag.FlagSet), misuse func(text string) error, commands ...*cobra.Command) *cobra.Command {
	// argparse names the commands in its complaint.
	choices := "choose from "
	c := &cobra.Command{
		Use: name, Short: short, Version: kafkaVersion, Args: cobra.ArbitraryArgs, SilenceUsage: true, SilenceErrors: true,
	}
	for i, command := range commands {
		if i > 0 {
			choices += ", "
		}
		choices += "'" + command.Name() + "'"
	}
	shared(c.PersistentFlags())
	c.SetVersionTemplate("{{.Version}}\n")
	c.AddCommand(commands...)
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return misuse(ArgumentError(err).Error()) })
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return misuse("too few arguments")
		}
		return misuse("invalid choice: '" + args[0] + "' (" + choices + ")")
	}
	return c
}

// oldNames maps options of older Kafka versions to what they are called now.
func oldNames(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	if name == "broker-list" {
		name = "bootstrap-server"
	}
	return pflag.NormalizedName(name)
}

// JSON tells whether `-o json` was asked for.
func JSON(fs *pflag.FlagSet) bool {
	format, err := fs.GetString("output")
	return err == nil && format == "json"
}

// Deprecated warns of an old name of an option in the words of most scripts, on standard output as they do.
func (s Streams) Deprecated(old, now string) {
	fmt.Fprintf(s.Out, "Option --%s has been deprecated and will be removed in a future version. Use --%s instead.\n", old, now)
}

// WriteJSON writes v as one line.
func WriteJSON(s Streams, v any) error {
	e := json.NewEncoder(s.Out)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
