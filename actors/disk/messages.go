package disk

import (
	"io"

	"troupe/actors/kit"
	"troupe/partitionlog"
)

// Appends asks an append lane to write the jobs in order. Neighbours of one file, also from other senders' messages in
// the same mailbox swap, share a write. The owner gets one Finished.
type Appends struct {
	Jobs        []*partitionlog.Job
	Owner       kit.Ref
	Incarnation uint32 // of the owner, given back in Finished
}

// Run asks a lane for one job; the owner gets one Finished.
type Run struct {
	Job         *partitionlog.Job
	Owner       kit.Ref
	Incarnation uint32
}

// Task asks a lane for work that is not a log's job: opening a log, writing a checkpoint, the metadata log.
type Task struct {
	// Name says what is done, for logs and traces.
	Name string
	// Do runs on the lane and may block on the disk. It owns what it captures until Done.
	Do func() error
	// Done is called on the lane's goroutine when Do has returned; it only sends messages.
	Done func(error)
	// Deferrable is work that the next start does as well: once the directory is PutOff it is answered ErrPutOff.
	Deferrable bool
}

// Warm asks the cold lane to bring a file region into the page cache, so that a connection's sendfile meets no
// disk wait.
type Warm struct {
	File     io.ReaderAt
	Pos, Len int64
	Done     func(error) // called on the lane's goroutine; only signals
}

// Finished answers Appends and Run: Errs[i] belongs to Jobs[i].
type Finished struct {
	Jobs        []*partitionlog.Job
	Errs        []error
	Incarnation uint32
}

// Fenced tells the broker that a log directory failed and will not be written again until a restart.
type Fenced struct {
	Dir *Dir
	Err error
}

// Short tells the broker that work was refused for want of room or of descriptors: the first of a row, which Refused
// counts and which ends with an append that is written.
type Short struct {
	Dir    *Dir
	Err    error
	Before int64 // what Refused counted before it
}

func (*Appends) MessageKind() string  { return "disk.appends" }
func (*Run) MessageKind() string      { return "disk.run" }
func (*Task) MessageKind() string     { return "disk.task" }
func (*Warm) MessageKind() string     { return "disk.warm" }
func (*Finished) MessageKind() string { return "disk.finished" }
func (*Fenced) MessageKind() string   { return "disk.fenced" }
func (*Short) MessageKind() string    { return "disk.short" }

// Fail answers the owner when the lane could not: its jobs did not happen, or only in part.
func (m *Appends) Fail(err error) {
	errs := make([]error, len(m.Jobs))
	for i := range errs {
		errs[i] = err
	}
	m.Owner.Send(&Finished{Jobs: m.Jobs, Errs: errs, Incarnation: m.Incarnation})
}

// Fail answers the owner when the lane could not.
func (m *Run) Fail(err error) {
	m.Owner.Send(&Finished{Jobs: []*partitionlog.Job{m.Job}, Errs: []error{err}, Incarnation: m.Incarnation})
}

// Fail reports to the task's owner.
func (m *Task) Fail(err error) { m.Done(err) }

// Fail reports to the waiting connection.
func (m *Warm) Fail(err error) { m.Done(err) }
