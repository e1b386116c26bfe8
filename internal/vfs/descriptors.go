package vfs

import (
	"errors"
	"sync/atomic"
)

// ErrNoDescriptor is returned when a share of the descriptors is used up.
var ErrNoDescriptor = errors.New("no file descriptor is left in this share of the process's limit")

// Share is a use of descriptors with a part of its own: connections run out of theirs before an append can fail for
// want of one.
type Share uint8

// The shares.
const (
	// ShareFiles is for the files of partition logs.
	ShareFiles Share = iota
	// ShareLinks is for connections to other brokers, both ways.
	ShareLinks
	// ShareConnections is for clients.
	ShareConnections
	shares
)

// Descriptors divides the process's limit of descriptors. What the runtime, listeners and short-lived files need is
// kept aside. It is safe for concurrent use.
type Descriptors struct {
	limit [shares]int64
	used  [shares]atomic.Int64
}

// setAside covers standard streams, pollers, listeners, locks, and checkpoints being written.
const setAside = 128

// NewDescriptors divides limit (RLIMIT_NOFILE): an eighth, at most 1,024, is for links; a third of the rest is for files,
// which are opened and closed as they are needed, and the rest for connections, which are not: 20,000 leave room for more
// than 12,000 clients beside 6,000 open files.
func NewDescriptors(limit int) *Descriptors {
	rest := max(int64(limit)-setAside, 3*shareMin)
	d := &Descriptors{}
	d.limit[ShareLinks] = min(max(rest/8, shareMin), 1024)
	d.limit[ShareFiles] = (rest - d.limit[ShareLinks]) / 3
	d.limit[ShareConnections] = rest - d.limit[ShareLinks] - d.limit[ShareFiles]
	return d
}

// shareMin lets a broker work, slowly, under the smallest limits that systems set.
const shareMin = 16

// Take reserves one descriptor, or tells that the share has none left.
func (d *Descriptors) Take(s Share) bool {
	if d.used[s].Add(1) <= d.limit[s] {
		return true
	}
	d.used[s].Add(-1)
	return false
}

// Give returns one.
func (d *Descriptors) Give(s Share) { d.used[s].Add(-1) }

// Used tells how many of a share are taken, and how many there are.
func (d *Descriptors) Used(s Share) (used, limit int) {
	return int(d.used[s].Load()), int(d.limit[s])
}
