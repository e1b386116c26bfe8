package partitionlog

import (
	"errors"
	"fmt"

	"troupe/codec/batch"
	"troupe/internal/model"
)

// Expected errors of a log.
var (
	// ErrPoisoned: a write failed, so what stands behind it in the file is unknown. The owner opens the log anew.
	ErrPoisoned = errors.New("the log failed to write and has to be opened anew")
	// ErrBusy: appends are outstanding, or a truncation is.
	ErrBusy = errors.New("the log has jobs outstanding that exclude this one")
	// ErrUnexpectedOffset: a follower's batch begins before the log's end.
	ErrUnexpectedOffset = errors.New("the batch begins before the end of the log")
	// ErrStale: the view is of files that were truncated or deleted since; the log has a newer one.
	ErrStale = errors.New("the view of the log is out of date")
	// ErrClosed: the log was closed or deleted.
	ErrClosed = errors.New("the log is closed")
)

// ForeignError says that a directory holds the log of another topic of the name: of one that was deleted, or of another
// cluster.
type ForeignError struct {
	Dir           string
	Found, Wanted model.TopicID
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s: the directory is of topic id %s, not %s", e.Dir, e.Found, e.Wanted)
}

// CorruptionError is damage found in a file: bytes that are not what was written.
type CorruptionError struct {
	File   string
	Pos    int64 // in bytes
	Offset model.Offset
	Reason string
	Err    error // what a decoder said, or nil
}

// Error names the file, the byte and the offset.
func (e *CorruptionError) Error() string {
	return fmt.Sprintf("%s: byte %d, offset %d: %s", e.File, e.Pos, e.Offset, e.Reason)
}

// Unwrap gives the decoder's error.
func (e *CorruptionError) Unwrap() error { return e.Err }

// isCorrupt tells damage from an error of the disk.
func isCorrupt(err error) bool {
	return errors.As(err, new(*CorruptionError)) || errors.As(err, new(*batch.CorruptError))
}
