package broker

import (
	"context"
	"path"

	"troupe/actors/cleaner"
	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/actors/move"
	"troupe/actors/replica"
	"troupe/configs"
)

// spawnCleaners starts one a log directory. Together they keep to the limits of log.cleaner.*.
func (b *Broker) spawnCleaners() {
	pool := cleaner.NewPool(b.clock, func() configs.Cleaner { return b.source.Broker().Cleaner })
	b.cleaners = make(map[*disk.Dir]kit.Ref, len(b.dirs))
	for _, d := range b.dirs {
		deps := &cleaner.Deps{Dir: d, Replicas: b.replicas, Pool: pool, Log: b.log, Ready: b.opening.ended}
		lanes := path.Dir(d.Lane(disk.Fsync).Name()) // it stands beside them, under the name that is the directory's alone
		b.cleaners[d] = b.system.Spawn(lanes+"/cleaner", cleaner.New(deps))
	}
}

// dropped has the checkpoint of a deleted log forgotten, and its copy if it is being moved.
func (b *Broker) dropped(h *replica.Handle) {
	b.refs.moves.Send(&move.Dropped{Handle: h})
	if ref, ok := b.cleaners[h.Dir()]; ok {
		ref.Send(&cleaner.Dropped{Handle: h})
	}
}

// stopCleaners comes before the logs are closed, which a cleaning under way would only delay.
func (b *Broker) stopCleaners(ctx context.Context) error {
	for _, ref := range b.cleaners {
		if err := wait(ctx, b.system.Stop(ref)); err != nil {
			return err
		}
	}
	return nil
}
