package broker

import (
	"context"
	"path/filepath"
	"sync"

	"troupe/actors/console"
	"troupe/actors/controller"
	"troupe/actors/replica"
	"troupe/partitionlog/checkpoint"
)

// shutDown runs the stages of a clean stop. Each ends early with ctx; the marks are written only when all came through.
func (b *Broker) shutDown(ctx context.Context) error {
	// Whatever happens, connections that are still open end here.
	defer b.stopNow()
	b.serving.Store(false)
	for _, d := range b.dirs {
		d.PutOff()
	}
	b.stopping.Store(int32(console.PendingControlledShutdown))
	defer b.closeConsole()
	said := b.sayFarewell()
	// The order of a clean stop: leaderships move away while clients and followers are still served, so that nobody waits
	// for an election; nothing new comes in and what came is answered; logs are closed, so that the checkpoints are of what is
	// on disk; the actors go last, since every stage needs some.
	stages := []func(context.Context) error{b.stopGroups, b.leave, b.handOver, b.drainListeners, b.stopMoves, b.stopCleaners, b.closeLogs, b.checkpointAll, b.closeGates,
		func(ctx context.Context) error { return wait(ctx, said) }, b.stopActors}
	if !b.cfg.Roles.Broker { // everybody comes in at the gates, and the quorum is all that it may lead
		stages = []func(context.Context) error{b.handOver, b.checkpointAll, b.closeGates,
			func(ctx context.Context) error { return wait(ctx, said) }, b.stopActors}
	}
	for _, stage := range stages {
		if err := stage(ctx); err != nil {
			return err
		}
	}
	return b.markClean()
}

// drainListeners stops accepting, then waits for requests that were taken: each is answered or its client gives up.
func (b *Broker) drainListeners(ctx context.Context) error {
	for _, ref := range b.refs.listeners {
		if err := wait(ctx, b.system.Stop(ref)); err != nil {
			return err
		}
	}
	return b.connections.Drained(ctx)
}

// closeGates lets other nodes in no longer. Until here they were needed: nothing is committed without them.
func (b *Broker) closeGates(ctx context.Context) error {
	for _, ref := range b.refs.gates {
		if err := wait(ctx, b.system.Stop(ref)); err != nil {
			return err
		}
	}
	return nil
}

// leave asks the controller to move this broker's leaderships away.
func (b *Broker) leave(ctx context.Context) error {
	done := make(chan struct{})
	b.refs.lifecycle.Send(&leave{done: func() { close(done) }})
	err := wait(ctx, done)
	b.stopping.Store(int32(console.ShuttingDown))
	return err
}

// handOver has another voter lead the metadata quorum, if this node does.
func (b *Broker) handOver(ctx context.Context) error {
	done := make(chan struct{})
	b.refs.controller.Send(&controller.HandOver{Done: sync.OnceFunc(func() { close(done) })})
	return wait(ctx, done)
}

// closeLogs has every shard flush and close its logs. One that fails leaves the stop unclean: the next start recovers.
func (b *Broker) closeLogs(ctx context.Context) error {
	results := make(chan int, len(b.shards))
	for _, s := range b.shards {
		s.Send(&replica.CloseAll{Done: func(failed int) { results <- failed }})
	}
	failed := 0
	for range b.shards {
		select {
		case n := <-results:
			failed += n
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if failed > 0 {
		return errUnclean
	}
	return nil
}

// checkpointAll writes the checkpoints after the last write to any log.
func (b *Broker) checkpointAll(ctx context.Context) error {
	done := make(chan struct{})
	b.refs.checkpointer.Send(&checkpointNow{done: func() { close(done) }})
	return wait(ctx, done)
}

// stopActors stops the tree, once.
func (b *Broker) stopActors(ctx context.Context) error {
	if b.stopped {
		return nil
	}
	err := b.system.Shutdown(ctx)
	b.stopped = err == nil
	return err
}

// markClean is the last thing written: the mark says that everything before it is on disk. It carries the broker epoch, by
// which the controller knows that nothing acknowledged is missing here (KIP-966). Of a directory that failed nobody knows.
func (b *Broker) markClean() error {
	for _, d := range b.directories {
		if b.dirOf(d.path).Err() != nil {
			continue
		}
		if err := checkpoint.WriteCleanShutdown(b.fs, filepath.Join(d.path, checkpoint.CleanShutdown), b.lifecycle.epoch()); err != nil {
			return err
		}
	}
	return nil
}

// wait ends with whichever comes first; its error is the context's.
func wait(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
