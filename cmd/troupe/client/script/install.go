package script

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"troupe/cmd/troupe/client/option"
)

// Install makes the command install-tools.
func Install(s option.Streams) *cobra.Command {
	c := option.Subcommand("install-tools", "Make links under the names of Kafka's scripts", s, install{})
	c.Use = "install-tools DIR"
	return c
}

// install has no options: the directory is an argument.
type install struct{}

func (install) Define(*pflag.FlagSet) {}

func (install) Run(_ context.Context, fs *pflag.FlagSet, s option.Streams) error {
	if fs.NArg() != 1 {
		return option.Fail("install-tools: name the directory to make the links in")
	}
	binary, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this binary: %w", err)
	}
	// Links point at the file itself: one to a link would break with it.
	if binary, err = filepath.EvalSymlinks(binary); err != nil {
		return fmt.Errorf("find this binary: %w", err)
	}
	dir := fs.Arg(0)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	made := names()
	for _, name := range made {
		if err := link(binary, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	if option.JSON(fs) {
		return option.WriteJSON(s, made)
	}
	fmt.Fprintf(s.Out, "%d links to %s in %s\n", len(made), binary, dir)
	return nil
}

// link replaces an older link of ours, but nothing that is not a link.
func link(binary, path string) error {
	if info, err := os.Lstat(path); err == nil {
		if info.Mode()&fs.ModeSymlink == 0 {
			return fmt.Errorf("%s exists and is not a link: not replaced", path)
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Symlink(binary, path)
}
