package broker

import (
	"context"
	"crypto/rand"

	"troupe/actors/api"
	"troupe/actors/coordinator"
	"troupe/actors/group"
	"troupe/codec/compress"
)

// spawnGroups makes the host of the group coordinators; which partitions they coordinate comes with the images.
func (b *Broker) spawnGroups() {
	g := b.cfg.Groups
	b.groups = api.Groups{Directory: coordinator.NewDirectory(), Options: group.Options{
		SessionMin: g.SessionTimeoutMin, SessionMax: g.SessionTimeoutMax, InitialDelay: g.InitialRebalanceDelay,
		MembersMax: int(g.MembersMax), MetadataMax: int(g.OffsetMetadataMaxBytes),
		Retention: g.OffsetsRetention, RetentionCheck: g.OffsetsRetentionCheck, Random: rand.Reader,
	}}
	b.refs.groups = b.system.Spawn("groups", coordinator.NewHost(&coordinator.Deps{
		Kind: "group", Directory: b.groups.Directory, Refuse: group.Refuse, LoadBytes: int(g.OffsetsLoadBytes),
		New:           func() coordinator.Machine { return group.New(b.groups.Options) },
		CommitTimeout: g.CommitTimeout, Codec: compress.Codec(g.OffsetsCodec), Log: b.log,
	}))
}

// stopGroups sends the members of groups to look for their coordinator: those that wait for a rebalance would hold up
// the end of their connections.
func (b *Broker) stopGroups(ctx context.Context) error {
	return wait(ctx, b.system.Stop(b.refs.groups))
}
