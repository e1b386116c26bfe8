package option

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// kafkaVersion is what `--version` of a script prints: the version whose texts and options are followed.
const kafkaVersion = "4.3.1"

// Tool is one of Kafka's scripts.
type Tool interface {
	// Define adds the script's options.
	Define(fs *pflag.FlagSet)
	// Run works with the options as parsed. Its error is a *Failure, or is printed and ends with code 1.
	Run(ctx context.Context, fs *pflag.FlagSet, s Streams) error
}

// Prefixed is a tool whose script begins its complaints about options with a prefix.
type Prefixed interface{ ErrorPrefix() string }

// Command wraps a tool. Without any argument it explains itself and fails, like the scripts.
func Command(name, short string, s Streams, t Tool) *cobra.Command {
	c := &cobra.Command{
		Use: name, Short: short, Version: kafkaVersion, Args: cobra.ArbitraryArgs,
		SilenceUsage: true, SilenceErrors: true, DisableFlagsInUseLine: true,
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.SetNormalizeFunc(oldNames)
	t.Define(fs)
	fs.StringP("output", "o", "text", "text or json")
	c.SetVersionTemplate("{{.Version}}\n")
	prefix := ""
	if p, ok := t.(Prefixed); ok {
		prefix = p.ErrorPrefix()
	}
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return Fail("%s%s", prefix, Error(err)) })
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 && fs.NFlag() == 0 {
			c.SetOut(s.Err)
			if err := c.Help(); err != nil {
				return err
			}
			return Silent()
		}
		if format, err := fs.GetString("output"); err != nil || format != "text" && format != "json" {
			return Fail("Cannot parse argument '%s' of option output: text or json", format)
		}
		return t.Run(c.Context(), fs, s)
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

// WriteJSON writes v as one line.
func WriteJSON(s Streams, v any) error {
	e := json.NewEncoder(s.Out)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
