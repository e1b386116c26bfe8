package localcluster

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"troupe/cmd/troupe/client/option"
)

const (
	// lookOften is how often the logs are read until all nodes serve, so that the time it takes is told as it was.
	lookOften = 10 * time.Millisecond
	lookLater = 100 * time.Millisecond

	// sameSignal is how long after the first signal another counts as the same: timeout(1) sends two.
	sameSignal = 300 * time.Millisecond

	// firstPause is how long a node stays away that is started again. It doubles with each end that follows soon on the one
	// before: within steadyAfter of a start.
	firstPause  = time.Second
	mostPause   = 30 * time.Second
	steadyAfter = 30 * time.Second

	// overdue is how long a node may take to stop beyond its own limit (shutdown.timeout.ms) before it is killed.
	overdue = 15 * time.Second
)

// readyLine begins the line that a node prints on its standard output when it serves.
const readyLine = "troupe is ready:"

// run is the cluster while it runs. One goroutine does it all.
type run struct {
	binary, dir string
	nodes       []*process
	restart     bool
	streams     option.Streams

	exits    chan ended
	began    time.Time
	served   bool // all nodes did at once
	stopping bool
	current  *process  // the node that was told to stop; nil: none
	waited   time.Time // since when it is waited for
	failed   error
}

func newRun(binary, dir string, nodes []*node, restart bool, s option.Streams) *run {
	r := &run{binary: binary, dir: dir, restart: restart, streams: s, exits: make(chan ended, len(nodes))}
	for _, n := range nodes {
		r.nodes = append(r.nodes, &process{node: n})
	}
	return r
}

// until runs the nodes until the context ends, all of them are gone, or one does not even start.
func (r *run) until(ctx context.Context) error {
	// On Linux children go with the thread that started them (Pdeathsig), so it has to be one that stays.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r.began = time.Now()
	for _, p := range r.nodes {
		if err := p.start(r.binary, r.exits); err != nil {
			r.fail("node %d: %v", p.id, err)
			break
		}
	}
	stop, again := ctx.Done(), make(chan os.Signal, 1)
	look := time.NewTimer(lookOften)
	defer look.Stop()
	var asked time.Time
	for r.running() > 0 || r.pending() {
		select {
		case e := <-r.exits:
			r.print()
			r.exited(e)
		case <-look.C:
			r.print()
			r.later()
			look.Reset(r.pace())
		case <-stop:
			stop, asked = nil, time.Now()
			signal.Notify(again, os.Interrupt, syscall.SIGTERM)
			defer signal.Stop(again)
			r.begin()
		case <-again:
			if time.Since(asked) > sameSignal {
				r.killAll()
			}
		}
	}
	r.print()
	return r.failed
}

func (r *run) pace() time.Duration {
	if r.served {
		return lookLater
	}
	return lookOften
}

// fail ends the run in order, with code 1.
func (r *run) fail(format string, args ...any) {
	if r.failed == nil {
		r.failed = option.Fail("troupe: "+format, args...)
	}
	r.begin()
}

// begin stops the nodes one after the other, from the last to the first: each hands its leaderships to those that are left.
func (r *run) begin() {
	if r.stopping {
		return
	}
	r.stopping = true
	for _, p := range r.nodes {
		p.again = time.Time{}
	}
	r.stopNext()
}

// stopNext tells one node at a time: told twice, it would not stop in order.
func (r *run) stopNext() {
	if r.current != nil && r.current.cmd != nil {
		return
	}
	r.waited = time.Now()
	for i := len(r.nodes) - 1; i >= 0; i-- {
		if p := r.nodes[i]; p.cmd != nil {
			r.current = p
			terminate(p.cmd.Process)
			return
		}
	}
}

// killAll is what a second signal asks for. The logs are recovered at the next start.
func (r *run) killAll() {
	for _, p := range r.nodes {
		if p.cmd != nil {
			_ = p.cmd.Process.Kill() // it may be gone, which is what is wanted
		}
	}
}

// exited reports an end, unless it was asked for.
func (r *run) exited(e ended) {
	p := e.process
	if err := p.gone(); err != nil {
		r.say("node %d: %v", p.id, err)
	}
	switch {
	case r.stopping:
		// One that did not serve yet had nothing to do in order.
		if p.ready && !e.state.Success() && r.failed == nil {
			r.failed = option.Fail("troupe: node %d did not stop in order (%s): see %s", p.id, e.state, p.file("log"))
		}
		r.stopNext()
	case !r.served && !p.ready:
		r.fail("node %d ended before it served (%s): see %s", p.id, e.state, p.file("log"))
	case r.restart:
		now := time.Now()
		pause, often := p.pause(now), ""
		if p.again = now.Add(pause); p.crashes > 1 {
			often = fmt.Sprintf(" for the %s time in a row, see %s", ordinal(p.crashes), p.file("log"))
		}
		r.say("node %d is gone (%s)%s; it is started again in %s", p.id, e.state, often, pause)
	default:
		r.say("node %d is gone (%s); to start it again: troupe start --config %s", p.id, e.state, p.configuration())
		if r.running() == 0 {
			r.failed = option.Fail("troupe: no node runs any more")
		}
	}
}

// ordinal is for counts from 2 on.
func ordinal(n int) string {
	suffix := "th"
	if n/10%10 != 1 && n%10 >= 1 && n%10 <= 3 {
		suffix = []string{"st", "nd", "rd"}[n%10-1]
	}
	return strconv.Itoa(n) + suffix
}

// later does what is due by the time.
func (r *run) later() {
	if r.stopping && time.Since(r.waited) > overdue {
		r.say("a node does not stop; the nodes that still run are killed")
		r.killAll()
		r.waited = time.Now()
	}
	for _, p := range r.nodes {
		if p.again.IsZero() || time.Now().Before(p.again) {
			continue
		}
		if err := p.start(r.binary, r.exits); err != nil {
			r.fail("node %d: %v", p.id, err)
		}
	}
}

// print shows what the nodes have printed, each line with the node's name, and tells once when all of them serve.
func (r *run) print() {
	for _, p := range r.nodes {
		if p.cmd == nil {
			continue
		}
		lines, err := p.log.lines()
		if err != nil {
			r.say("node %d: %v", p.id, err)
		}
		for _, line := range lines {
			fmt.Fprintf(r.streams.Err, "node-%d | %s\n", p.id, line)
			p.ready = p.ready || strings.HasPrefix(line, readyLine)
		}
	}
	if r.served || r.stopping || r.serving() < len(r.nodes) {
		return
	}
	r.served = true
	var addresses []string
	for _, p := range r.nodes {
		addresses = append(addresses, p.ports[clientPort])
	}
	fmt.Fprintf(r.streams.Out, "troupe cluster is ready: nodes=%d bootstrap=%s dir=%s took=%s\n", len(r.nodes),
		strings.Join(addresses, ","), r.dir, time.Since(r.began).Round(time.Millisecond))
}

func (r *run) say(format string, args ...any) {
	fmt.Fprintf(r.streams.Err, "troupe: "+format+"\n", args...)
}

func (r *run) running() (n int) {
	for _, p := range r.nodes {
		if p.cmd != nil {
			n++
		}
	}
	return n
}

func (r *run) serving() (n int) {
	for _, p := range r.nodes {
		if p.cmd != nil && p.ready {
			n++
		}
	}
	return n
}

// pending tells whether a node is to be started again.
func (r *run) pending() bool {
	for _, p := range r.nodes {
		if !p.again.IsZero() {
			return true
		}
	}
	return false
}
