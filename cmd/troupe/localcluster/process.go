package localcluster

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// process is a node while it runs, and what is known of it when it does not.
type process struct {
	*node
	cmd     *exec.Cmd // nil: does not run
	log     *tail
	began   time.Time // its last start
	ready   bool      // said so since then
	crashes int       // ends that came soon, one after the other
	again   time.Time // when it is to be started again; zero: it is not
}

// ended is the end of a process.
type ended struct {
	*process
	state *os.ProcessState
}

// start runs the node. Its output goes straight to its file, so that it outlives this process; what is printed is read
// from there.
func (p *process) start(binary string, exits chan<- ended) error {
	out, err := os.OpenFile(p.file("log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer out.Close() // the child has it
	if p.log, err = openTail(p.file("log")); err != nil {
		return err
	}
	cmd := exec.Command(binary, "start", "--config", p.configuration())
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Env = withoutSettings(os.Environ())
	cmd.SysProcAttr = ownGroup()
	if err := cmd.Start(); err != nil {
		return err
	}
	p.cmd, p.began, p.ready, p.again = cmd, time.Now(), false, time.Time{}
	go func() {
		_ = cmd.Wait() // the state tells more
		exits <- ended{p, cmd.ProcessState}
	}()
	return os.WriteFile(p.file("pid"), []byte(strconv.Itoa(cmd.Process.Pid)+"\n"), 0o644)
}

// withoutSettings drops TROUPE_ variables: they stand in the file by now, under what is decided for each node.
func withoutSettings(environment []string) []string {
	var kept []string
	for _, pair := range environment {
		if !strings.HasPrefix(pair, "TROUPE_") {
			kept = append(kept, pair)
		}
	}
	return kept
}

// pause counts an end, and tells how long the node stays away.
func (p *process) pause(now time.Time) time.Duration {
	if now.Sub(p.began) >= steadyAfter {
		p.crashes = 0
	}
	p.crashes++
	return min(firstPause<<min(p.crashes-1, 10), mostPause)
}

// gone takes note of the end. The file goes: it tells of a process that is there.
func (p *process) gone() error {
	p.cmd = nil
	err := errors.Join(p.log.close(), os.Remove(p.file("pid")))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
