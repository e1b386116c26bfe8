package move

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/actors/replica"
	"troupe/codec/batch"
	"troupe/internal/model"
	"troupe/partitionlog"
)

const (
	// readMost is how much is copied at once (replica.fetch.max.bytes has this default).
	readMost = 1 << 20
	// freezeMost bounds how long a replica waits for the last batches of its copy.
	freezeMost = 10 * time.Second
	// restFor is the pause after a replica or a disk refused something that may be possible later.
	restFor = time.Second
	// staleFor is the pause after nothing came of a read.
	staleFor = 10 * time.Millisecond
)

// mover grows the copy of one replica. It reads what the replica publishes, on the lanes of its directory, and writes on those
// of the other; one thing at a time is under way.
//
// Invariants: the copy is a prefix of the replica's log, by leader epochs, or it begins anew; it gets the log's name only as
// of a moment at which the replica was frozen with the same end, and after the metadata has named its directory.
type mover struct {
	deps *Deps
	*course
	log    *partitionlog.Log // nil until it is open, and when it is not this actor's any more
	swaps  *partitionlog.Log // with the replica, which takes it or gives it back
	work   int               // jobs and tasks under way
	rests  bool              // nothing new is begun for a while
	end    model.Offset      // at which the replica is frozen
	froze  bool
	naming bool // the copy has everything, and is being marked or swapped
	// assigning is set once the controller was asked to name the copy's directory, assigned once the metadata does.
	assigning, assigned bool
	over, deleted       bool
	failure             error
}

type (
	opened struct {
		incarnation uint32
		log         *partitionlog.Log
		err         error
	}
	// copied is a piece of the replica's log.
	copied struct {
		incarnation uint32
		view        *partitionlog.View
		bytes       []byte
		err         error
	}
	frozen struct {
		incarnation uint32
		end         model.Offset
		err         error
	}
	marked struct {
		incarnation uint32
		err         error
	}
	swapped struct {
		incarnation uint32
		err         error
	}
	// assigned answers whether the metadata names the copy's directory.
	assigned struct {
		incarnation uint32
		err         error
	}
	goOn    struct{}
	giveUp  struct{ deleted bool } // the replica
	removed struct{ err error }
)

func (*opened) MessageKind() string   { return "mover.opened" }
func (*copied) MessageKind() string   { return "mover.copied" }
func (*frozen) MessageKind() string   { return "mover.frozen" }
func (*marked) MessageKind() string   { return "mover.marked" }
func (*swapped) MessageKind() string  { return "mover.swapped" }
func (*assigned) MessageKind() string { return "mover.assigned" }
func (*goOn) MessageKind() string     { return "mover.go-on" }
func (*giveUp) MessageKind() string   { return "mover.give-up" }
func (*removed) MessageKind() string  { return "mover.removed" }

func futurePath(h *replica.Handle, to *disk.Dir, unique model.UUID) string {
	return filepath.Join(to.Path, partitionlog.FutureName(h.TP, unique))
}

// Start opens the copy.
func (m *mover) Start(ctx *kit.Context) {
	if ctx.Incarnation() > 1 {
		m.handle.Send(&replica.Thaw{}) // of what the instance before has frozen
	}
	if m.lent { // by that one
		m.inquire(ctx)
		return
	}
	m.open(ctx)
}

// open finds what there is of the copy: nothing, or what a former process or instance wrote.
func (m *mover) open(ctx *kit.Context) {
	self, h, path := ctx.Self(), m.handle, m.path
	res := &opened{incarnation: ctx.Incarnation()}
	cfg := h.Config().Log
	m.work++
	open := &disk.Task{
		Name: "open " + filepath.Base(path),
		Do: func() (err error) {
			// The next start goes on with what it finds: what is shown to be moving has its directory.
			fsys := m.to.Env.FS
			if err := errors.Join(fsys.MkdirAll(path, 0o755), fsys.SyncDir(m.to.Path)); err != nil {
				return err
			}
			res.log, _, err = partitionlog.Open(m.to.Env, path, h.TP, cfg, partitionlog.OpenParams{TopicID: h.TopicID})
			return err
		},
		Done: func(err error) {
			res.err = err
			self.Send(res)
		},
	}
	// What an instance before this one has staged is written before the directory is read.
	ctx.Send(m.to.AppendLane(h.TP), &disk.Task{Name: "pass", Do: func() error { return nil }, Done: func(error) { m.to.BulkLane(h.TP).Send(open) }})
}

// Receive takes the step that an event allows.
func (m *mover) Receive(ctx *kit.Context, msg kit.Message) {
	age := ctx.Incarnation()
	switch msg := msg.(type) {
	case *opened:
		m.opened(ctx, msg)
	case *copied:
		if msg.incarnation == age {
			m.work--
			m.take(ctx, msg)
		}
	case *disk.Finished:
		if msg.Incarnation == age {
			m.finished(ctx, msg)
		}
	case *frozen:
		if msg.incarnation == age {
			m.work--
			m.frozen(ctx, msg)
		}
	case *marked:
		if msg.incarnation == age {
			m.work--
			m.swap(ctx, msg.err)
		}
	case *swapped:
		if msg.incarnation == age {
			m.work--
			m.swapped(ctx, msg.err)
		}
	case *assigned:
		if msg.incarnation == age {
			m.assigning, m.assigned = msg.err == nil, msg.err == nil
			m.restAfter(ctx, msg.err)
		}
	case *goOn: // void after a restart
		m.rests = false
		if m.lent && m.swaps == nil {
			m.inquire(ctx)
		}
	case *giveUp:
		m.over, m.deleted = true, msg.deleted
	case *removed:
		m.gone(ctx, msg.err)
	}
}

// EndBatch goes on when nothing is under way.
func (m *mover) EndBatch(ctx *kit.Context) {
	if m.log == nil || m.work > 0 {
		return
	}
	if m.over {
		m.abandon(ctx)
		return
	}
	if !m.rests {
		m.step(ctx)
	}
}

// Stopped leaves the files for the next start, which goes on with them.
func (m *mover) Stopped(*kit.Context) { m.Crashed(nil) }

// Crashed gives back what the log holds.
func (m *mover) Crashed(error) {
	if m.log != nil {
		m.log.Abandon()
	}
}

func (m *mover) opened(ctx *kit.Context, msg *opened) {
	if msg.incarnation != ctx.Incarnation() {
		if msg.log != nil {
			msg.log.Abandon()
		}
		return
	}
	m.work--
	if msg.err != nil {
		m.fail(ctx, msg.err)
		return
	}
	m.log = msg.log
	m.background(ctx)
	m.publish()
	ctx.Send(ctx.Parent(), &shown{m.handle})
}

func (m *mover) publish() {
	m.handle.SetFuture(&replica.Future{Dir: m.to, End: m.log.LogEnd(), Size: m.log.Size(), Assigned: m.assigning, Naming: m.naming})
}

// rest tries again in a while.
func (m *mover) rest(ctx *kit.Context, d time.Duration) {
	m.rests = true
	ctx.After(max(d, time.Millisecond), &goOn{})
}

func (m *mover) restAfter(ctx *kit.Context, err error) {
	if err != nil {
		m.rest(ctx, restFor)
	}
}

// step looks how the copy stands to the replica's log, and does the next thing.
func (m *mover) step(ctx *kit.Context) {
	h, now := m.handle, ctx.Now()
	v, end := h.View(), m.log.LogEnd()
	switch {
	case h.Dir().Err() != nil || m.to.Err() != nil:
		m.fail(ctx, disk.ErrFenced)
		return
	case v == nil || !h.Status().Online:
		m.rest(ctx, restFor)
		return
	case m.parted(v):
		m.froze = false
		m.run(ctx, m.log.Reset(v.LogStart))
		return
	case m.froze && end == m.end:
		m.mark(ctx, v)
		return
	case end == v.LogEnd && !m.assigned:
		m.assign(ctx)
		return
	case end == v.LogEnd:
		m.freeze(ctx)
		return
	}
	if until, exceeded := m.deps.Quota.Exceeded(now); exceeded && !m.froze {
		m.rest(ctx, until.Sub(now))
		return
	}
	m.read(ctx, v)
}

// parted tells that the copy has something that the replica has not, or cannot go on from where it ends.
func (m *mover) parted(v *partitionlog.View) bool {
	end := m.log.LogEnd()
	if end < v.LogStart || end > v.LogEnd {
		return true
	}
	if end == m.log.LogStart() {
		return false
	}
	last := m.log.View().EpochAt(end - 1)
	if last == model.NoLeaderEpoch {
		return false
	}
	epoch, to := v.EpochEnd(last)
	return epoch != last || to < end
}

func (m *mover) read(ctx *kit.Context, v *partitionlog.View) {
	self, from := ctx.Self(), m.log.LogEnd()
	res := &copied{incarnation: ctx.Incarnation(), view: v}
	m.work++
	ctx.Send(m.handle.Dir().ColdLane(m.handle.TP), &disk.Task{
		Name: "read " + m.handle.TP.String() + " to be moved",
		Do: func() error {
			region, err := v.Read(from, v.LogEnd, readMost, true)
			if err != nil {
				return err
			}
			defer region.Release()
			if region.Len == 0 {
				return nil
			}
			res.bytes = make([]byte, region.Len)
			_, err = region.File.ReadAt(res.bytes, region.Pos)
			return err
		},
		Done: func(err error) {
			res.err = err
			self.Send(res)
		},
	})
}

// take stages what was read. Each batch is checked: what a disk has spoilt is not to be made a whole log.
func (m *mover) take(ctx *kit.Context, msg *copied) {
	switch {
	case errors.Is(msg.err, partitionlog.ErrStale):
		m.rest(ctx, staleFor) // retention or a truncation took it: the next view tells
		return
	case msg.err != nil:
		m.fail(ctx, msg.err)
		return
	}
	now := ctx.Now()
	var jobs []*partitionlog.Job
	for rest := msg.bytes; len(rest) > 0; {
		v, after, err := batch.First(rest)
		if errors.Is(err, batch.ErrIncomplete) {
			break
		}
		if err == nil {
			err = v.CheckCRC()
		}
		var job *partitionlog.Job
		if err == nil {
			_, job, err = m.log.Stage(v, partitionlog.StageOptions{NowMs: now.UnixMilli(), Origin: partitionlog.FromLeader})
		}
		if errors.Is(err, partitionlog.ErrUnexpectedOffset) && len(jobs) == 0 {
			m.run(ctx, m.log.Reset(v.BaseOffset())) // the log begins in the middle of a batch
			return
		}
		if err != nil {
			m.fail(ctx, err)
			return
		}
		jobs = append(jobs, job)
		rest = after
	}
	if len(jobs) == 0 {
		m.rest(ctx, staleFor)
		return
	}
	m.deps.Quota.Record(int64(len(msg.bytes)), now)
	m.work += len(jobs)
	ctx.Send(m.to.AppendLane(m.handle.TP), &disk.Appends{Jobs: jobs, Owner: ctx.Self(), Incarnation: ctx.Incarnation()})
}

func (m *mover) run(ctx *kit.Context, job *partitionlog.Job) {
	if job != nil {
		m.work++
		ctx.Send(m.to.LaneFor(job, m.handle.TP), &disk.Run{Job: job, Owner: ctx.Self(), Incarnation: ctx.Incarnation()})
	}
}

func (m *mover) background(ctx *kit.Context) {
	for _, job := range m.log.Background(ctx.Now().UnixMilli()) {
		m.run(ctx, job)
	}
}

func (m *mover) finished(ctx *kit.Context, msg *disk.Finished) {
	m.work -= len(msg.Jobs)
	if m.log == nil {
		return
	}
	for i, job := range msg.Jobs {
		m.log.Done(job, msg.Errs[i])
	}
	if err := m.log.Err(); err != nil {
		m.fail(ctx, err)
		return
	}
	if v := m.handle.View(); v != nil {
		m.log.SetHighWatermark(min(v.HighWatermark, m.log.LogEnd()))
		if to := min(v.LogStart, m.log.HighWatermark()); to > m.log.LogStart() {
			if err := m.log.DeleteRecordsTo(to); err != nil {
				m.fail(ctx, err)
				return
			}
		}
	}
	m.background(ctx)
	m.publish()
}

// assign has the metadata name the copy's directory before the copy takes the log's place (KIP-858): a directory that fails then, or is
// not there at the next start, is known to have had the replica. Until that is answered the replica serves from where it is.
func (m *mover) assign(ctx *kit.Context) {
	if m.assigning {
		return
	}
	m.assigning = true
	m.publish()
	self, age := ctx.Self(), ctx.Incarnation()
	m.deps.Assign(m.handle, m.to, func(err error) { self.Send(&assigned{age, err}) })
}

// freeze asks the replica to stand still for the last batches.
func (m *mover) freeze(ctx *kit.Context) {
	self, age := ctx.Self(), ctx.Incarnation()
	m.work++
	m.handle.Send(&replica.Freeze{Within: freezeMost, Done: func(end model.Offset, err error) { self.Send(&frozen{age, end, err}) }})
}

// mark makes the copy durable and says so, in its directory and in the checkpoints beside it.
func (m *mover) mark(ctx *kit.Context, v *partitionlog.View) {
	if job := m.log.Flush(); job != nil {
		m.run(ctx, job)
		return
	}
	if m.log.Busy() {
		m.rest(ctx, time.Millisecond)
		return
	}
	m.naming = true
	m.publish()
	self, done, h := ctx.Self(), &marked{incarnation: ctx.Incarnation()}, m.handle
	recovery := m.log.RecoveryPoint()
	m.work++
	ctx.Send(m.to.BulkLane(h.TP), &disk.Task{
		Name: "mark " + filepath.Base(m.path),
		Do: func() error {
			if err := m.to.Checkpoints.Place(h.TP, recovery, v.LogStart, v.HighWatermark); err != nil {
				return err
			}
			return partitionlog.MarkWhole(m.to.Env.FS, m.path)
		},
		Done: func(err error) {
			done.err = err
			self.Send(done)
		},
	})
}

func (m *mover) swap(ctx *kit.Context, err error) {
	if err != nil {
		m.fail(ctx, err)
		return
	}
	self, age := ctx.Self(), ctx.Incarnation()
	m.work++
	m.log, m.swaps, m.lent = nil, m.log, true
	m.handle.Send(&replica.Swap{Log: m.swaps, To: m.to, Unique: m.unique, Done: func(err error) { self.Send(&swapped{age, err}) }})
}

// swapped ends the move. A replica that refused has gone on meanwhile, and the copy does too. One that had begun finds out where
// its log is, which may be in the copy alone.
func (m *mover) swapped(ctx *kit.Context, err error) {
	log := m.swaps
	m.swaps = nil
	if err != nil && m.handle.Dir() != m.to && log.Err() != nil {
		m.inquire(ctx)
		return
	}
	m.froze, m.naming, m.lent = false, false, false
	if err == nil || m.handle.Dir() == m.to {
		m.arrived(ctx)
		return
	}
	m.log = log
	m.publish()
	m.rest(ctx, restFor)
}

// arrived ends the move well.
func (m *mover) arrived(ctx *kit.Context) {
	m.handle.SetFuture(nil)
	m.deps.Log.Info("a replica was moved to another log directory", "partition", m.handle.TP.String(), "dir", m.to.Path)
	ctx.Send(ctx.Parent(), &ended{m.handle, nil})
}

// inquire has the replica say that it has found its log: it can be frozen then. In a directory that failed it finds nothing before
// the next start, which takes the copy where the log is not: until then the copy stays, and is shown.
func (m *mover) inquire(ctx *kit.Context) {
	if m.handle.Dir().Err() == nil {
		m.freeze(ctx)
		return
	}
	m.deps.Log.Error("a move to another log directory ends in doubt: the next start finds out which log is whole", "partition", m.handle.TP.String(), "dir", m.to.Path)
	m.deps.Stays(m.handle)
	ctx.Send(ctx.Parent(), &ended{m.handle, disk.ErrFenced})
}

// frozen goes on with the last batches, or with what was found out.
func (m *mover) frozen(ctx *kit.Context, msg *frozen) {
	switch {
	case !m.lent:
		m.froze, m.end = msg.err == nil, msg.end
		m.restAfter(ctx, msg.err)
	case msg.err != nil && m.deleted:
		m.abandon(ctx)
	case msg.err != nil:
		m.rest(ctx, restFor)
	default:
		m.handle.Send(&replica.Thaw{})
		m.froze, m.naming, m.lent = false, false, false
		if m.handle.Dir() == m.to {
			m.arrived(ctx)
			return
		}
		m.open(ctx)
	}
}

// fail ends the move with the replica where it was. What cannot be removed now the next start goes on with.
func (m *mover) fail(ctx *kit.Context, err error) {
	m.deps.Log.Error("a move to another log directory failed", "partition", m.handle.TP.String(), "dir", m.to.Path, "err", err)
	m.over, m.failure = true, err
	if m.work == 0 {
		m.abandon(ctx)
	}
}

// abandon removes the copy. It loses its name first: half of it is not to be taken for the whole.
func (m *mover) abandon(ctx *kit.Context) {
	if m.log != nil {
		m.log.Abandon()
		m.log = nil
	}
	m.handle.SetFuture(nil)
	m.deps.Stays(m.handle)
	m.handle.Send(&replica.Thaw{})
	m.work++
	self := ctx.Self()
	path, doomed := m.path, filepath.Join(m.to.Path, deletedName(m.handle.TP, m.unique))
	ctx.Send(m.to.BulkLane(m.handle.TP), &disk.Task{
		Name: "remove " + filepath.Base(path),
		Do: func() error {
			fsys := m.to.Env.FS
			if err := fsys.Rename(path, doomed); err != nil {
				if _, there := fsys.Stat(path); there != nil {
					return nil
				}
				return err
			}
			return errors.Join(fsys.SyncDir(m.to.Path), fsys.RemoveAll(doomed))
		},
		Done: func(err error) { self.Send(&removed{err}) },
	})
}

func deletedName(tp model.TopicPartition, unique model.UUID) string {
	return fmt.Sprintf("%s.%x-delete", tp, unique[:])
}

func (m *mover) gone(ctx *kit.Context, err error) {
	if err != nil && !errors.Is(err, disk.ErrFenced) {
		m.deps.Log.Error("files of a move that was given up cannot be removed", "dir", m.path, "err", err)
	}
	ctx.Send(ctx.Parent(), &ended{m.handle, m.failure})
}
