package disk

import (
	"fmt"
	"hash/maphash"
	"slices"

	"troupe/actors/kit"
	"troupe/internal/model"
	"troupe/partitionlog"
)

// Spawner starts actors: the system at the root, a context below it.
type Spawner interface {
	Spawn(name string, p kit.Props) kit.Ref
}

// Lanes is how many lanes of the sharded kinds a directory has.
type Lanes struct {
	Appends int // disk.append.lanes
	Cold    int // disk.read.lanes
	Bulk    int // num.recovery.threads.per.data.dir
}

// Open starts the lanes of a directory below the spawner. onFence is told once when the directory fails.
func Open(s Spawner, env *partitionlog.Env, path string, id model.DirectoryID, lanes Lanes, onFence kit.Ref) *Dir {
	d := &Dir{Path: path, ID: id, Env: env, seed: maphash.MakeSeed(), onFence: onFence}
	d.Checkpoints = newCheckpoints(d)
	start := func(k Kind, name string) kit.Ref { return s.Spawn(name, d.Props(k)) }
	d.metadata = start(Metadata, "metadata")
	for i := range max(1, lanes.Appends) {
		d.appends = append(d.appends, start(Append, fmt.Sprintf("append-%d", i)))
	}
	for i := range max(1, lanes.Bulk) {
		d.bulk = append(d.bulk, start(Bulk, fmt.Sprintf("bulk-%d", i)))
	}
	for i := range max(1, lanes.Cold) {
		d.cold = append(d.cold, start(Cold, fmt.Sprintf("cold-%d", i)))
	}
	d.fsync = start(Fsync, "fsync")
	d.create = start(Create, "create")
	return d
}

// Props are those of one more lane.
func (d *Dir) Props(k Kind) kit.Props {
	return kit.Props{
		Kind:      "disk-" + string(k),
		Dedicated: true,
		Brief:     brief(k),
		New:       func() kit.Behavior { return &lane{dir: d, onFence: d.onFence} },
	}
}

// briefMax is how many bytes to the page cache are written sooner than another thread is awake.
const briefMax = 32 << 10

// brief lets whoever wakes the append lane for a small write do it.
func brief(k Kind) func(kit.Message) bool {
	if k != Append {
		return nil
	}
	return func(m kit.Message) bool {
		a, is := m.(*Appends)
		if !is {
			return false
		}
		n := int64(0)
		for _, j := range a.Jobs {
			n += j.Bytes()
		}
		return n <= briefMax
	}
}

// lane runs what it is sent, in order, but collects two kinds: the writes of one mailbox swap go out together, or before
// another message that stands behind them, and what is done for many logs together comes after all else.
type lane struct {
	dir     *Dir
	onFence kit.Ref

	waiting []*Appends
	jobs    []*partitionlog.Job // of waiting, in order; reused
	group   []*Run              // what is done for many logs together
	warmBuf []byte
}

// Receive is the one place of this program that may block: lanes have goroutines of their own (Dedicated).
func (l *lane) Receive(ctx *kit.Context, m kit.Message) {
	if _, collects := m.(*Appends); !collects {
		l.write(ctx)
	}
	switch m := m.(type) {
	case *Appends:
		l.waiting = append(l.waiting, m)
		l.jobs = append(l.jobs, m.Jobs...)
		ctx.Link(m)
	case *Run:
		if m.Job.Groups() {
			l.group = append(l.group, m)
			ctx.Link(m)
			return
		}
		ctx.Send(m.Owner, l.run(ctx, m))
	case *Task:
		if m.Deferrable && l.dir.putOff.Load() {
			m.Done(ErrPutOff)
			return
		}
		m.Done(l.guard(m.Do))
	case *Warm:
		m.Done(l.guard(func() error { return l.warm(m) }))
	}
}

func (l *lane) run(ctx *kit.Context, m *Run) *Finished {
	began := ctx.Now()
	err := l.guard(m.Job.Run)
	if m.Job.Kind == partitionlog.KindFsync {
		l.dir.Flushes.Observe(ctx.Now().Sub(began))
	}
	return &Finished{Jobs: []*partitionlog.Job{m.Job}, Errs: []error{err}, Incarnation: m.Incarnation}
}

// EndBatch writes what one mailbox swap brought, and does what it asked for of many logs.
func (l *lane) EndBatch(ctx *kit.Context) {
	l.write(ctx)
	l.runGroup(ctx)
}

func (l *lane) runGroup(ctx *kit.Context) {
	if len(l.group) == 0 {
		return
	}
	jobs := make([]*partitionlog.Job, len(l.group))
	for i, m := range l.group {
		jobs[i] = m.Job
	}
	var errs []error
	if l.dir.Err() != nil {
		errs = fenced(len(jobs))
	} else {
		began := ctx.Now()
		errs = partitionlog.RunGroup(l.dir.Env.FS, l.dir.Path, jobs)
		if jobs[0].Kind == partitionlog.KindFsync {
			l.dir.Flushes.Observe(ctx.Now().Sub(began))
		}
		for _, err := range errs {
			l.judge(err)
		}
	}
	for i, m := range l.group {
		ctx.SendFor(m, m.Owner, &Finished{Jobs: jobs[i : i+1 : i+1], Errs: errs[i : i+1 : i+1], Incarnation: m.Incarnation})
	}
	clear(l.group)
	l.group = l.group[:0]
}

func fenced(n int) []error {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = ErrFenced
	}
	return errs
}

// write writes what was collected and answers each owner.
func (l *lane) write(ctx *kit.Context) {
	if len(l.waiting) == 0 {
		return
	}
	var errs []error
	if err := l.dir.Err(); err != nil {
		errs = fenced(len(l.jobs))
	} else {
		began := ctx.Now()
		errs = partitionlog.RunAppends(l.jobs)
		l.dir.Writes.Observe(ctx.Now().Sub(began))
		for _, err := range errs {
			l.judge(err)
		}
		if l.dir.short.Load() && !slices.ContainsFunc(errs, func(err error) bool { return err != nil }) {
			l.dir.short.Store(false)
		}
	}
	at := 0
	for i, a := range l.waiting {
		n := len(a.Jobs)
		ctx.SendFor(a, a.Owner, &Finished{Jobs: a.Jobs, Errs: errs[at : at+n : at+n], Incarnation: a.Incarnation})
		at += n
		l.waiting[i] = nil
	}
	l.waiting = l.waiting[:0]
	clear(l.jobs)
	l.jobs = l.jobs[:0]
}

// Crashed answers what was collected: the owners reopen their logs and see what reached the disk.
func (l *lane) Crashed(err error) {
	for _, a := range l.waiting {
		a.Fail(err)
	}
	for _, m := range l.group {
		m.Fail(err)
	}
}

// guard does nothing in a directory that has failed: what could be written there would not be read again.
func (l *lane) guard(do func() error) error {
	if l.dir.Err() != nil {
		return ErrFenced
	}
	err := do()
	l.judge(err)
	return err
}

// judge fences the directory after an error that no retry mends, and tells of it once. Errors that pass are counted: who
// meets one tries again and says nothing, or a full disk would fill the log as well.
func (l *lane) judge(err error) {
	if partitionlog.Passes(err) && !fatal(err) {
		before := l.dir.refused.Add(1) - 1
		if l.dir.short.CompareAndSwap(false, true) && !l.onFence.IsZero() {
			l.onFence.Send(&Short{Dir: l.dir, Err: err, Before: before})
		}
		return
	}
	if err == nil || !fatal(err) {
		return
	}
	if l.dir.fence(err) && !l.onFence.IsZero() {
		l.onFence.Send(&Fenced{Dir: l.dir, Err: err})
	}
}

// warmStep is how much one read of the cold lane asks for.
const warmStep = 256 << 10

// warm reads bytes and throws them away: they are then in the page cache, where sendfile finds them without waiting.
func (l *lane) warm(m *Warm) error {
	if l.warmBuf == nil {
		l.warmBuf = make([]byte, warmStep)
	}
	for done := int64(0); done < m.Len; {
		n, err := m.File.ReadAt(l.warmBuf[:min(warmStep, m.Len-done)], m.Pos+done)
		if n == 0 {
			return err
		}
		done += int64(n)
	}
	return nil
}
