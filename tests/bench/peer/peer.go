// Package peer runs the brokers that are compared, each as a process of its own, and tells what they cost.
package peer

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"troupe/tests/bench/load"
)

// Kind is what can be started: Apache Kafka or Troupe.
type Kind struct {
	Name string
	// format prepares an empty directory; nil where none is needed.
	format func(b *Broker) error
	// command is the broker's process.
	command func(b *Broker) *exec.Cmd
}

// ports are those of one broker.
type ports struct{ client, other int }

// Broker is one node on its ports and its directory, running or not.
type Broker struct {
	Kind     Kind
	Address  string
	dir      string // of its own: the data, the configuration, what it prints
	settings []string
	listen   ports
	cmd      *exec.Cmd
	exited   chan struct{}
}

// New prepares a broker with a directory of its own under a folder. Settings are key=value in the broker's own keys.
func New(k Kind, folder string, settings ...string) (*Broker, error) {
	dir, err := os.MkdirTemp(folder, k.Name+"-")
	if err != nil {
		return nil, err
	}
	b := &Broker{Kind: k, dir: dir, settings: settings}
	if b.listen, err = freePorts(); err != nil {
		return nil, err
	}
	b.Address = net.JoinHostPort("127.0.0.1", strconv.Itoa(b.listen.client))
	if k.format != nil {
		err = k.format(b)
	}
	return b, err
}

// The ports are drawn from below those that systems give to outgoing connections, one of which would else have taken a port
// by the time that Java listens on it, and from above those of tests/node.
const firstPort, lastPort = 31_000, 32_700

// freePorts finds two ports that nobody listens on. Both are held until both are known.
func freePorts() (p ports, err error) {
	for _, at := range []*int{&p.client, &p.other} {
		for *at == 0 {
			port := firstPort + rand.IntN(lastPort-firstPort)
			l, listenErr := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
			if errors.Is(listenErr, syscall.EADDRINUSE) {
				continue
			}
			if listenErr != nil {
				return p, listenErr
			}
			defer func() { err = errors.Join(err, l.Close()) }()
			*at = port
		}
	}
	return p, nil
}

// Launch starts the process and does not wait until it serves.
func (b *Broker) Launch() error {
	cmd := b.Kind.command(b)
	log, err := os.OpenFile(b.log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own descriptor
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	b.cmd, b.exited = cmd, make(chan struct{})
	go func(exited chan struct{}) {
		_ = cmd.Wait() // how it ended is in its log
		close(exited)
	}(b.exited)
	return nil
}

// Data is the folder of the log directory.
func (b *Broker) Data() string { return filepath.Join(b.dir, "data") }

func (b *Broker) log() string { return filepath.Join(b.dir, "output") }

// patience bounds the wait for a start; Kafka's with thousands of partitions to recover takes minutes.
const patience = 10 * time.Minute

// Start launches the process and waits until it answers on its port.
func (b *Broker) Start() error {
	if err := b.Launch(); err != nil {
		return err
	}
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if c, err := load.Dial(b.Address); err == nil {
			return c.Close()
		}
		select {
		case <-again.C:
		case <-b.exited:
			return fmt.Errorf("%s ended before it served: %s", b.Kind.Name, b.tail())
		}
	}
	return fmt.Errorf("%s does not serve after %v: %s", b.Kind.Name, patience, b.tail())
}

// Said gives the last line that the broker has printed with a text in it, "" for none.
func (b *Broker) Said(text string) string {
	all, err := os.ReadFile(b.log())
	if err != nil {
		return ""
	}
	found := ""
	for line := range strings.Lines(string(all)) {
		if strings.Contains(line, text) {
			found = strings.TrimSpace(line)
		}
	}
	return found
}

func (b *Broker) tail() string {
	text, err := os.ReadFile(b.log())
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2000):])
}

// Kill ends the process at once (SIGKILL) and waits until it is gone.
func (b *Broker) Kill() error {
	if b.cmd == nil {
		return nil
	}
	err := b.cmd.Process.Kill()
	<-b.exited
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// Remove ends the process and removes what it wrote.
func (b *Broker) Remove() error {
	return errors.Join(b.Kill(), os.RemoveAll(b.dir))
}

// Files lists the files of the log directory.
func (b *Broker) Files() ([]string, error) {
	var files []string
	err := filepath.WalkDir(b.Data(), func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	return files, err
}

// Pause stops the process where it is, so that it takes nothing of the machine while another one is measured; Resume
// lets it go on.
func (b *Broker) Pause() error { return b.signal("-STOP") }

// Resume ends a Pause.
func (b *Broker) Resume() error { return b.signal("-CONT") }

func (b *Broker) signal(name string) error {
	return exec.Command("kill", name, strconv.Itoa(b.cmd.Process.Pid)).Run()
}
