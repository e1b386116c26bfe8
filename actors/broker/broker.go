// Package broker puts the actors of one node together: the order in which they start and stop, and what ends the
// process. Everything else is the actors' own.
package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"troupe/actors/api"
	"troupe/actors/console"
	"troupe/actors/controller"
	"troupe/actors/disk"
	"troupe/actors/journal"
	"troupe/actors/kit"
	"troupe/actors/lag"
	"troupe/actors/listener"
	"troupe/actors/membership"
	"troupe/actors/metadata"
	"troupe/actors/peer"
	"troupe/actors/replica"
	"troupe/actors/trace"
	"troupe/configs"
	"troupe/internal/clock"
	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog"
	"troupe/partitionlog/checkpoint"
)

// Options of a broker. Config and Log are required.
type Options struct {
	Config *configs.Loaded
	Log    *slog.Logger
	FS     vfs.FS      // the machine's own when nil
	Clock  clock.Clock // the machine's own when nil
	// ClusterID is taken by new log directories; empty draws one.
	ClusterID string
	// Dispatcher runs the actors step by step on the caller's goroutine, and the broker without sockets: the simulator hands
	// requests to Node itself.
	Dispatcher *kit.Deterministic

	until context.Context // of Start
	// Transport reaches other nodes; TCP when nil.
	Transport peer.Transport
}

// Broker is one running node.
type Broker struct {
	cfg   *configs.Broker
	log   *slog.Logger
	fs    vfs.FS
	clock clock.Clock

	directories []*directory
	identity    identity
	incarnation model.UUID
	sockets     []boundListener

	system      *kit.System
	journal     journal.Journal
	tracer      *trace.Tracer
	descriptors *vfs.Descriptors
	env         *partitionlog.Env
	dirs        []*disk.Dir
	metadataDir *disk.Dir
	replicas    *replica.Directory
	shards      []kit.Ref
	cleaners    map[*disk.Dir]kit.Ref
	source      *metadata.Source
	groups      api.Groups
	lag         lag.Board
	quorum      *controller.Board
	quotas      quotas
	lifecycle   *lifecycleState
	peers       *peer.Directory
	gossip      *membership.Gossip // nil without cluster.gossip.address, and members too
	members     *membership.Board
	refs        refs
	node        *api.Node
	stats       *api.Stats
	connections *listener.Deps
	opening     *opening
	registered  chan struct{} // closed when the controller has unfenced this broker
	adminSocket net.Listener  // nil when admin.address is empty
	admin       *console.Server
	serving     atomic.Bool
	stopping    atomic.Int32 // the console.State of a stop under way, else 0

	stopNow context.CancelFunc // ends what waits for credits
	stopped bool               // the actors
	stop    sync.Once
	failed  chan error // what ends the process
}

// refs are the actors that the broker addresses itself.
type refs struct {
	warden, metadata, controller, lifecycle, producerIDs, checkpointer, groups, peers, fetchers, alterations, moves kit.Ref
	// listeners are those of clients and brokers; other nodes come in at gates before this one serves, and until it has left.
	listeners, gates []kit.Ref
}

// boundListener is a port that is bound before anything else, so that a port in use ends the start at once, and that is
// accepted from last of all.
type boundListener struct {
	configs.Listener
	socket net.Listener // nil in a simulation
}

// Start brings a node up and returns when it serves, or fails, or ctx ends. After an error nothing is left running.
func Start(ctx context.Context, o Options) (*Broker, error) {
	o.until = ctx
	b, err := Begin(o)
	if err != nil {
		return nil, err
	}
	// Registration and the opening of logs go side by side; clients find both done.
	for _, wait := range []<-chan struct{}{b.registered, b.opening.done} {
		select {
		case <-wait:
		case err := <-b.failed:
			b.Abort()
			return nil, err
		case <-ctx.Done():
			b.Abort()
			return nil, context.Cause(ctx)
		}
	}
	b.serve()
	return b, nil
}

// Begin starts the actors and waits for nothing. Advance goes on from there.
func Begin(o Options) (*Broker, error) {
	b := &Broker{
		cfg: &o.Config.Broker, log: o.Log, fs: o.FS, clock: o.Clock, replicas: replica.NewDirectory(),
		incarnation: model.RandomUUID(), registered: make(chan struct{}), failed: make(chan error, 1),
	}
	if !b.cfg.Roles.Broker { // it keeps the metadata, and no data
		alone := *b.cfg
		alone.LogDirs = []string{alone.MetadataDir}
		b.cfg = &alone
	}
	if b.fs == nil {
		b.fs = vfs.OS()
	}
	if b.clock == nil {
		b.clock = clock.System()
	}
	if err := b.prepare(o); err != nil {
		b.release()
		return nil, err
	}
	b.tellStrays()
	b.spawn(o, sync.OnceFunc(func() { close(b.registered) }))
	return b, nil
}

// Advance lets a node that has begun serve as soon as it can, and tells whether it does.
func (b *Broker) Advance() bool {
	if b.serving.Load() {
		return true
	}
	select {
	case <-b.registered:
	default:
		return false
	}
	if !b.opening.ended() {
		return false
	}
	b.serve()
	return true
}

// serve is the end of a start: clients are let in.
func (b *Broker) serve() {
	b.noteEras()
	b.refs.listeners = b.listenAt(false)
	b.serving.Store(true)
	for _, w := range b.node.Warnings() {
		b.log.Warn(w.Text, "mend", w.Mend)
	}
}

// Node is what answers requests.
func (b *Broker) Node() *api.Node { return b.node }

// prepare takes what can be taken from under a running broker: directories, then ports.
func (b *Broker) prepare(o Options) (err error) {
	if b.directories, b.identity, err = openDirectories(b.fs, b.cfg, o.ClusterID, b.clock.Now(), b.searching(o)); err != nil {
		return err
	}
	for _, l := range b.cfg.Listeners {
		if o.Dispatcher != nil {
			b.sockets = append(b.sockets, boundListener{Listener: l})
			continue
		}
		s, err := net.Listen("tcp", net.JoinHostPort(l.Bind.Host, fmt.Sprint(l.Bind.Port)))
		if err != nil {
			return fmt.Errorf("listener %s cannot be opened (listeners): %w", l.Name, err)
		}
		b.sockets = append(b.sockets, bound(l, s))
	}
	if b.cfg.Admin.Address != "" {
		if b.adminSocket, err = net.Listen("tcp", b.cfg.Admin.Address); err != nil {
			return fmt.Errorf("admin port cannot be opened (admin.address): %w", err)
		}
	}
	return b.begin()
}

// begin takes the marks of a clean stop away: from here on the logs may change.
func (b *Broker) begin() error {
	for _, d := range b.directories {
		if !d.clean {
			continue
		}
		if err := checkpoint.RemoveCleanShutdown(b.fs, filepath.Join(d.path, checkpoint.CleanShutdown)); err != nil {
			return fmt.Errorf("log directory %s: %w", d.path, err)
		}
	}
	return nil
}

// bound completes a listener's addresses with the port that was bound.
func bound(l configs.Listener, s net.Listener) boundListener {
	port := uint16(s.Addr().(*net.TCPAddr).Port)
	if l.Bind.Port == 0 {
		l.Bind.Port = port
	}
	// Port 0 asks the system for one; what clients are told is what it gave.
	if l.Advertised.Port == 0 {
		l.Advertised.Port = port
	}
	return boundListener{l, s}
}

// Ready is the line that says that the broker serves: where, on which data, and how long it took.
func (b *Broker) Ready(took time.Duration) string {
	var at []string
	for _, s := range b.sockets {
		at = append(at, s.Name+"://"+s.Bind.String())
	}
	line := fmt.Sprintf("troupe is ready: node=%d listeners=%s data=%s", b.cfg.NodeID, strings.Join(at, ","), strings.Join(b.cfg.LogDirs, ","))
	if !b.cfg.Roles.Broker {
		line += " roles=controller"
	}
	if b.admin != nil {
		line += " admin=" + b.admin.Address()
	}
	return fmt.Sprintf("%s cluster=%s took=%s", line, b.identity.clusterID, took.Round(time.Millisecond))
}

// release gives back what prepare took.
func (b *Broker) release() {
	b.forgetFailedEras()
	for _, s := range b.sockets {
		if s.socket != nil {
			_ = s.socket.Close() // nothing was accepted from it
		}
	}
	if b.adminSocket != nil {
		_ = b.adminSocket.Close() // the server on it has ended
	}
	unlock(b.directories)
}

// Failed tells what ended the broker by itself: an actor that keeps failing, or the last log directory.
func (b *Broker) Failed() <-chan error { return b.failed }

// fail is heard once: what ended the broker first is the reason, and the rest follows from it.
func (b *Broker) fail(err error) {
	select {
	case b.failed <- err:
	default:
	}
}

// Stop shuts down in order: no new requests, leaderships moved, logs flushed and closed, clean marks written. When ctx
// ends first, or a stage fails, the rest is left as a crash would leave it, and the error is returned. Nothing is left
// running in any case.
func (b *Broker) Stop(ctx context.Context) error {
	var err error
	b.stop.Do(func() {
		if err = b.shutDown(ctx); err != nil {
			b.halt()
		}
		b.release()
	})
	return err
}

// Abort ends the broker as a crash would: nothing is flushed, nobody is answered.
func (b *Broker) Abort() {
	b.stop.Do(func() {
		b.halt()
		b.release()
	})
}

// haltWithin bounds the wait for a disk that hangs.
const haltWithin = 5 * time.Second

// halt is the end without order: connections are cut, actors stopped, and what a disk is at is waited for a while. Files
// are left as they are; the marks of a clean stop are not written.
func (b *Broker) halt() {
	b.serving.Store(false)
	b.stopNow()
	b.connections.Cut()
	b.closeGossip()
	b.closeConsole()
	ctx, cancel := context.WithTimeout(context.Background(), haltWithin)
	defer cancel()
	if err := b.stopActors(ctx); err != nil {
		b.log.Warn("an actor does not stop", "err", err)
	}
}

var errUnclean = errors.New("not every log could be closed; the next start recovers them")
