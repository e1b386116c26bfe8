package simulation

import (
	"fmt"
	"io"
	"log/slog"
	"time"

	"troupe/actors/broker"
	"troupe/actors/kit"
	"troupe/configs"
	"troupe/internal/clock"
	"troupe/internal/model"
	"troupe/internal/vfs"
)

// The ports of every node.
const (
	brokerPort     = 9092
	controllerPort = 9093
)

// host is a machine with a disk, on which a broker runs or does not.
type host struct {
	world   *World
	id      int
	disk    *vfs.CrashFS
	off     bool // without power
	dying   bool // about to lose it: the disk answers no more at some moment
	process *process
	lives   int
	// skew and drift are the machine's clock against the world's: it is ahead, and goes faster by parts in a million.
	skew  time.Duration
	drift int64
	// ioTime is about what a turn of a disk lane takes.
	ioTime time.Duration
	// diskErr is what the disk answers to everything, nil for a healthy one.
	diskErr error
	// directory is the id of the disk's directory; fresh tells that the disk is new since the node's last life.
	directory model.DirectoryID
	fresh     bool
	// rough tells that raft messages to the node do not come as they were sent.
	rough bool
	// incarnations are the lives of the broker by what they register as.
	incarnations map[model.UUID]int
}

const healthyDisk = 150 * time.Microsecond

func newHost(w *World, id int) *host {
	h := &host{world: w, id: id, ioTime: healthyDisk, incarnations: map[model.UUID]int{}}
	h.disk = vfs.NewCrashFS(w.random.Uint64(), w.clock)
	h.disk.Hook(func(vfs.Call) vfs.Fault { return vfs.Fault{Err: h.diskErr} })
	h.resetClock()
	h.drawDirectory()
	return h
}

// host finds a machine by its number; nil for one of a client.
func (w *World) host(id int) *host {
	if id < 1 || id > len(w.hosts) {
		return nil
	}
	return w.hosts[id-1]
}

// resetClock draws how wrong the machine's clock is; it counts from the next start of the process.
func (h *host) resetClock() {
	h.skew = h.world.between(-2*time.Second, 2*time.Second)
	h.drift = h.world.random.Int64N(400) - 200
}

// process is one life of a broker.
type process struct {
	host       *host
	life       int
	order      *kit.Deterministic
	broker     *broker.Broker
	began      time.Time // by the world's clock
	dead       bool
	paused     bool
	serving    bool
	waiting    []func() // what the kernel keeps for a paused process
	sessions   []*session
	connection uint64
}

// start starts the broker's process.
func (h *host) start() {
	w := h.world
	h.lives++
	p := &process{host: h, life: h.lives, began: w.clock.Now(), order: kit.NewDeterministic(w.random.Uint64())}
	p.order.Lanes(func(run func()) {
		w.after(w.between(h.ioTime/4, 2*h.ioTime), func() { p.run(run) })
	})
	h.process = p
	loaded, err := configs.Load(configs.Options{Hostname: hostName(h.id), Set: h.settings()})
	if err != nil {
		w.fail("configuration of node %d: %w", h.id, err)
		return
	}
	w.note("start", "node %d, life %d, clock off by %s", h.id, h.lives, h.skew)
	p.broker, err = broker.Begin(broker.Options{
		Config: loaded, Log: w.logOf(h), FS: h.disk, Clock: hostClock{p}, ClusterID: clusterID, Dispatcher: p.order,
		Transport: transport{p},
	})
	if err != nil {
		w.note("start", "node %d cannot start: %v", h.id, err)
		p.dead, h.process = true, nil
		if h.diskErr == nil {
			w.fail("node %d cannot start: %w", h.id, err)
		}
		return
	}
	h.incarnations[p.broker.Node().Self().Incarnation] = h.lives
}

func hostName(id int) string { return fmt.Sprintf("node%d", id) }

// logOf gives the broker's log, without the machine's time in it.
func (w *World) logOf(h *host) *slog.Logger {
	out := w.Brokers
	if out == nil {
		out = io.Discard
	}
	level := slog.LevelInfo
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.String("at", w.since().String())
		}
		return a
	}})).With("node", h.id)
}

// step gives one of its actors a turn.
func (p *process) step() bool {
	if p.paused {
		return false
	}
	if !p.order.Step() {
		return false
	}
	p.lookAfter()
	return true
}

// lookAfter lets the broker serve when it can, and ends the process when the broker does.
func (p *process) lookAfter() {
	h := p.host
	select {
	case err := <-p.broker.Failed():
		h.world.note("exit", "node %d: %v", h.id, err)
		h.crash()
		return
	default:
	}
	if !p.serving && p.broker.Advance() {
		p.serving = true
		h.world.note("serving", "node %d, life %d", h.id, p.life)
		if p.broker.Opened().TruncatedBytes > 0 {
			h.world.cover.meet(tornTail)
		}
		if h.fresh {
			h.fresh = false
			h.world.cover.meet(wipedDisk)
		}
		for _, s := range p.sessions {
			s.wake()
		}
	}
}

// run does what the outside asks of a process: now, when it is resumed, or never.
func (p *process) run(f func()) {
	switch {
	case p.dead:
	case p.paused:
		p.waiting = append(p.waiting, f)
	default:
		f()
	}
}

// pause stops a process as SIGSTOP does.
func (p *process) pause() { p.paused = true }

// resume lets it go on, with all that has come meanwhile.
func (p *process) resume() {
	p.paused = false
	waiting := p.waiting
	p.waiting = nil
	for i, f := range waiting {
		if p.paused || p.dead {
			p.waiting = append(p.waiting, waiting[i:]...)
			return
		}
		f()
	}
}

// crash ends the process; the kernel closes its connections and keeps what it wrote.
func (h *host) crash() {
	p := h.process
	if p == nil {
		return
	}
	p.dead, h.process = true, nil
	h.disk.Exit()
	for _, e := range h.world.net.of(h.id) {
		e.close()
	}
}

// losePower cuts the power: connections fall silent, and the disk forgets what was not synced.
func (h *host) losePower() {
	if p := h.process; p != nil {
		p.dead, h.process = true, nil
	}
	h.off, h.dying = true, false
	for _, e := range h.world.net.of(h.id) {
		e.forget()
	}
	h.disk.Crash()
}

// hostClock is the clock of a machine, as a process that runs there sees it.
type hostClock struct{ p *process }

// Now is ahead or behind, and goes a little too fast or too slow.
func (c hostClock) Now() time.Time {
	h := c.p.host
	now := h.world.clock.Now()
	return now.Add(h.skew + now.Sub(c.p.began)/1_000_000*time.Duration(h.drift))
}

// AfterFunc calls f when the process can run.
func (c hostClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	p := c.p
	real := d - d/1_000_000*time.Duration(p.host.drift)
	return p.host.world.clock.AfterFunc(real, func() { p.run(f) })
}
