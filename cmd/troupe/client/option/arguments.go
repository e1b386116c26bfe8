package option

import (
	"errors"
	"strings"

	"github.com/spf13/pflag"
)

// Normalize rewrites arguments into the form pflag reads: `-topic` becomes `--topic`, and the value of an option that
// may go without one is joined to it (`--compression-codec zstd`). Everything after `--` is left alone.
func Normalize(fs *pflag.FlagSet, args []string) []string {
	out := make([]string, 0, len(args))
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			return append(out, args[i:]...)
		}
		name, _, joined := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		flag := fs.Lookup(name)
		// Values, one-letter options and what is unknown pass as they are: pflag says what is wrong with them.
		if !strings.HasPrefix(arg, "-") || flag == nil || len(name) < 2 {
			out = append(out, arg)
			continue
		}
		arg = "--" + strings.TrimLeft(arg, "-")
		text, takesValue := flag.Value.(*Text)
		switch {
		case !takesValue || joined:
		case text.without == "" && i+1 < len(args):
			// pflag would take a following option for the value; the scripts call the value missing.
			if text.refuses(fs, args[i+1]) {
				return append(out, arg)
			}
			i++
			out = append(out, arg)
			arg = args[i]
		// Only what does not look like an option is taken for the value that may be left out.
		case text.without != "" && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-"):
			i++
			arg += "=" + args[i]
		case text.without != "":
			arg += "=" + text.without
		}
		out = append(out, arg)
	}
	return out
}

// refuses tells whether next is an option rather than the value of t. A number below zero is a value, since no option is
// called so.
func (t *Text) refuses(fs *pflag.FlagSet, next string) bool {
	if !strings.HasPrefix(next, "-") {
		return false
	}
	name, _, _ := strings.Cut(strings.TrimLeft(next, "-"), "=")
	return fs.Lookup(name) != nil
}

// Error says a parse error of pflag in the words of the scripts.
func Error(err error) error {
	var unknown *pflag.NotExistError
	var missing *pflag.ValueRequiredError
	switch {
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		return errors.New(name + " is not a recognized option")
	case errors.As(err, &missing):
		return errors.New("Option " + missing.GetSpecifiedName() + " requires an argument")
	}
	return err
}

// ArgumentError says a parse error of pflag in the words of the scripts that are built on argparse.
func ArgumentError(err error) error {
	var unknown *pflag.NotExistError
	var missing *pflag.ValueRequiredError
	switch {
	case errors.As(err, &unknown):
		return errors.New("unrecognized arguments: '--" + unknown.GetSpecifiedName() + "'")
	case errors.As(err, &missing):
		return errors.New("argument --" + missing.GetSpecifiedName() + ": expected one argument")
	}
	return err
}
