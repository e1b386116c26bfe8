package broker

import (
	"slices"

	"troupe/actors/fetcher"
	"troupe/actors/replica"
	"troupe/cluster/image"
	"troupe/internal/model"
)

// spawnReplication makes the actors by which replicas here reach their leaders, and leaders the controller.
func (b *Broker) spawnReplication() {
	r := b.cfg.Replication
	counts := &b.stats.Replication
	b.refs.alterations = b.system.Spawn("alterations", newAlterations(b.lifecycle, counts))
	b.refs.fetchers = b.system.Spawn("fetchers", fetcher.New(fetcher.Deps{
		Self: b.cfg.NodeID, Peers: b.peers, Epoch: b.lifecycle.epoch, Log: b.log, Quota: b.quotas.follower, Counts: counts, Moves: b.movesHere,
		Limits: fetcher.Limits{
			WaitMax: r.FetchWaitMax, Backoff: r.FetchBackoff, Timeout: r.SocketTimeout, MinBytes: r.FetchMinBytes,
			PartitionBytes: r.FetchMaxBytes, ResponseMaxBytes: r.ResponseMaxBytes,
		},
	}))
}

// movesHere tells whether this broker is being made a replica.
func (b *Broker) movesHere(tp model.TopicPartition) bool {
	p, ok := b.source.Image().Partition(tp)
	return ok && slices.Contains(p.Adding, b.cfg.NodeID)
}

// eligible tells who may be in the ISR of a replica that leads here, by the metadata that is applied here.
func (b *Broker) eligible(h *replica.Handle, id model.BrokerID, epoch model.BrokerEpoch) bool {
	return mayBeInSync(b.source.Image(), h, id, epoch)
}

// mayBeInSync looks at the directory, too: what lies in one that failed fetches no more, though all that it said before was in sync.
func mayBeInSync(i *image.Image, h *replica.Handle, id model.BrokerID, epoch model.BrokerEpoch) bool {
	other, ok := i.Broker(id)
	if !ok || !other.Active() || epoch != -1 && epoch != other.Epoch {
		return false
	}
	of, at := replicaIn(i, h, id)
	return at < 0 || other.HasOnline(of)
}
