package broker

import (
	"context"

	"troupe/actors/disk"
	"troupe/actors/move"
	"troupe/actors/replica"
)

// spawnMoves makes the actor that moves replicas between the log directories of this broker.
func (b *Broker) spawnMoves() {
	b.refs.moves = b.system.Spawn("moves", move.New(move.Deps{
		Quota: b.quotas.directories, Log: b.log, Stays: b.movedWithin,
		Assign: func(h *replica.Handle, to *disk.Dir, done func(error)) {
			b.refs.lifecycle.Send(&replicaMoved{&relocation{h, to, done}})
		},
	}))
}

// movedWithin has the controller told of a replica that lies in another directory now than the metadata says (KIP-858).
func (b *Broker) movedWithin(*replica.Handle) { b.refs.lifecycle.Send(&replicaMoved{}) }

// resumeMoves goes on, once it is known which logs are whose, with what a process before this one was moving.
func (b *Broker) resumeMoves() {
	for _, m := range b.identity.begun {
		tp, ok := parseLogDir(m.Of)
		h := b.replicas.Get(tp)
		to := b.dirOf(m.Dir)
		if !ok || h == nil || to.Path != m.Dir || h.Dir() == to {
			b.log.Warn("a copy that was begun is of no replica that moves there, and is kept until it is moved or deleted by hand", "dir", m.Path)
			continue
		}
		b.refs.moves.Send(&move.Begin{Handle: h, To: to, Path: m.Path})
	}
	b.identity.begun = nil
}

// stopMoves comes before the logs are closed. The next start goes on.
func (b *Broker) stopMoves(ctx context.Context) error { return wait(ctx, b.system.Stop(b.refs.moves)) }
