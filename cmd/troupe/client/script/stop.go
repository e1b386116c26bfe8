package script

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
)

// Stop makes the command server-stop.
func Stop(s option.Streams) *cobra.Command {
	return option.Subcommand("server-stop", "Stop the brokers that run from this binary", s, &stop{})
}

// stop ends brokers by a signal: all, or those of a node id.
type stop struct{ node, role option.Text }

func (c *stop) Define(fs *pflag.FlagSet) {
	option.Var(fs, &c.node, "node-id", "ID", "only the broker with this node.id")
	option.Var(fs, &c.role, "process-role", "ROLES", "only brokers whose process.roles are these")
}

func (c *stop) Run(_ context.Context, fs *pflag.FlagSet, s option.Streams) error {
	servers, err := servers()
	if err != nil {
		return err
	}
	servers = slices.DeleteFunc(servers, func(p process) bool {
		switch {
		// The node id wins over the roles when both are given (KIP-979).
		case c.node.Given():
			return p.property("node.id") != c.node.Last()
		case c.role.Given():
			return p.property("process.roles") != c.role.Last()
		}
		return false
	})
	if len(servers) == 0 {
		// The words and the exit code that init scripts look for.
		fmt.Fprintln(s.Out, "No kafka server to stop")
		return option.Silent()
	}
	var failed error
	for _, p := range servers {
		if err := terminate(p.pid, os.Getenv("SIGNAL")); err != nil {
			failed = errors.Join(failed, fmt.Errorf("stop process %d: %w", p.pid, err))
		}
	}
	return failed
}

// process is a running broker.
type process struct {
	pid  int
	dir  string // its working directory, "" when not known
	args []string
}

// property gives a key that the command line sets, or its file.
func (p process) property(key string) string {
	value := ""
	for i, arg := range p.args {
		if k, v, ok := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "--set="), "--override="), "="); ok && k == key {
			value = v
		}
		if i == 0 || value != "" || strings.HasPrefix(arg, "-") {
			continue
		}
		if !filepath.IsAbs(arg) {
			arg = filepath.Join(p.dir, arg)
		}
		// YAML's "key: value" reads as a property, too.
		if props, err := kafkatext.Load(arg); err == nil && props[key] != "" {
			value = props[key]
		}
	}
	return value
}

// servers lists the processes that run a broker out of this binary, by /proc where there is one and by ps elsewhere.
func servers() ([]process, error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this binary: %w", err)
	}
	if binary, err = filepath.EvalSymlinks(binary); err != nil {
		return nil, fmt.Errorf("find this binary: %w", err)
	}
	// A /proc that is not mounted looks like an empty directory.
	entries, err := os.ReadDir("/proc/self")
	if err != nil || len(entries) == 0 {
		return listed(filepath.Base(binary))
	}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	var found []process
	for _, dir := range dirs {
		exe, err := os.Readlink(filepath.Join(dir, "exe"))
		// A binary that was replaced while a broker ran from it is marked as deleted.
		if err != nil || strings.TrimSuffix(exe, " (deleted)") != binary {
			continue // another program, another user's, or already gone
		}
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		cwd, err := os.Readlink(filepath.Join(dir, "cwd"))
		if err != nil {
			cwd = ""
		}
		if args, ok := broker(strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")); ok {
			found = append(found, process{pid, cwd, args})
		}
	}
	return found, nil
}

// broker tells whether a command line runs a broker, and gives its arguments from the command on.
func broker(line []string) ([]string, bool) {
	l, err := Read(line)
	return l.Args, err == nil && len(l.Args) > 0 && l.Args[0] == "start"
}

// listed asks ps, which knows names and not files.
func listed(name string) ([]process, error) {
	out, err := exec.Command("ps", "ax", "-o", "pid=,args=").Output()
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var found []process
	// A script that was started through an interpreter is not found: its first word is the interpreter's.
	for lines := bufio.NewScanner(strings.NewReader(string(out))); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) < 2 || filepath.Base(words[1]) != name && filepath.Base(words[1]) != "kafka-server-start.sh" {
			continue
		}
		if args, ok := broker(words[1:]); ok {
			if pid, err := strconv.Atoi(words[0]); err == nil {
				found = append(found, process{pid: pid, args: args})
			}
		}
	}
	return found, nil
}
