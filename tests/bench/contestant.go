package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// contestant is a broker that can be put under load.
type contestant interface {
	name() string
	// start gives the broker's address and process id when it serves.
	start(ctx context.Context, dir string) (address, pid string, err error)
	stop(ctx context.Context, dir string, pid string) error
}

// measure starts a contestant on a fresh directory, runs the loads and stops it.
func measure(ctx context.Context, c contestant, dir string) (figures, error) {
	address, pid, err := c.start(ctx, dir)
	if err != nil {
		return nil, err
	}
	out := dir + ".jsonl"
	loadErr := command(ctx, *versus, "load", "single", address, pid, out)
	if err := errors.Join(loadErr, c.stop(ctx, dir, pid)); err != nil {
		return nil, err
	}
	file, err := os.Open(out)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return read(file)
}

// command runs a program from the repository's root, with its output beside ours.
func command(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	cmd.Env = append(os.Environ(), fmt.Sprintf("VERSUS_S=%d", *seconds))
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return nil
}

// kafka is Apache Kafka, as the load script starts it.
type kafka struct{}

func (kafka) name() string { return "kafka" }

func (kafka) start(ctx context.Context, dir string) (string, string, error) {
	cmd := exec.CommandContext(ctx, *versus, "kafka-up", "1", dir)
	cmd.Stderr = os.Stderr
	// The broker inherits the pipe, so that it does not end with the script: read one line of it.
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return "", "", err
	}
	if err := cmd.Start(); err != nil {
		return "", "", err
	}
	line, err := bufio.NewReader(pipe).ReadString('\n')
	fields := strings.Fields(line)
	if err != nil || len(fields) != 2 {
		return "", "", fmt.Errorf("kafka-up prints %q: %w", line, err)
	}
	return fields[0], fields[1], cmd.Wait()
}

func (kafka) stop(ctx context.Context, dir, _ string) error {
	return command(ctx, *versus, "kafka-down", dir)
}

// troupe is the binary under test.
type troupe struct{}

func (troupe) name() string { return "troupe" }

var ready = regexp.MustCompile(`listeners=PLAINTEXT://(\S+)`)

func (troupe) start(ctx context.Context, dir string) (string, string, error) {
	cmd := exec.CommandContext(ctx, *binary, "start", "--set", "node.id=1", "--set", "listeners=PLAINTEXT://127.0.0.1:0",
		"--set", "log.dirs="+dir, "--set", "admin.address=127.0.0.1:0")
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return "", "", err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return "", "", err
	}
	lines := bufio.NewScanner(pipe)
	for lines.Scan() {
		if found := ready.FindStringSubmatch(lines.Text()); found != nil {
			go io.Copy(io.Discard, pipe)
			return found[1], fmt.Sprint(cmd.Process.Pid), nil
		}
	}
	return "", "", fmt.Errorf("the broker ended before it was ready: %w", cmd.Wait())
}

// stop asks for a clean end and waits for it, so that the next contestant has the machine for itself.
func (troupe) stop(ctx context.Context, dir, pid string) error {
	var id int
	if _, err := fmt.Sscan(pid, &id); err != nil {
		return err
	}
	process, err := os.FindProcess(id)
	if err != nil {
		return err
	}
	if err := process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		_, err := process.Wait()
		done <- err
	}()
	select {
	case err = <-done:
	case <-time.After(time.Minute):
		err = errors.New("the broker does not stop")
	case <-ctx.Done():
		err = ctx.Err()
	}
	return errors.Join(err, os.RemoveAll(dir))
}
