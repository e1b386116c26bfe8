package broker

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"troupe/actors/api"
	"troupe/actors/coordinator"
	"troupe/actors/group"
	"troupe/actors/lag"
	"troupe/codec/compress"
	"troupe/internal/model"
)

// spawnGroups makes the host of the group coordinators; which partitions they coordinate comes with the images.
func (b *Broker) spawnGroups() {
	g := b.cfg.Groups
	counters := &group.Counters{}
	b.groups = api.Groups{Directory: coordinator.NewDirectory(), Counters: counters, Options: group.Options{
		SessionMin: g.SessionTimeoutMin, SessionMax: g.SessionTimeoutMax, InitialDelay: g.InitialRebalanceDelay,
		MembersMax: int(g.MembersMax), MetadataMax: int(g.OffsetMetadataMaxBytes),
		Retention: g.OffsetsRetention, RetentionCheck: g.OffsetsRetentionCheck, Random: rand.Reader, Count: counters.Count,
		Misread: b.tellMisread, MayDescribe: b.mayDescribe,
		Consumer: group.ConsumerOptions{
			Session:        group.Bounded{Standard: g.ConsumerSession, Least: g.ConsumerSessionMin, Most: g.ConsumerSessionMax},
			Heartbeat:      group.Bounded{Standard: g.ConsumerHeartbeat, Least: g.ConsumerHeartbeatMin, Most: g.ConsumerHeartbeatMax},
			Interval:       group.Bounded{Standard: g.ConsumerAssignment, Least: g.ConsumerAssignmentMin, Most: g.ConsumerAssignmentMax},
			PatternRefresh: g.ConsumerPatternRefresh, MembersMax: int(g.ConsumerMembersMax), Assignors: g.ConsumerAssignors,
			Upgrade:   g.ConsumerMigration == "bidirectional" || g.ConsumerMigration == "upgrade",
			Downgrade: g.ConsumerMigration == "bidirectional" || g.ConsumerMigration == "downgrade",
		},
	}}
	b.refs.groups = b.system.Spawn("groups", coordinator.NewHost(&coordinator.Deps{
		Kind: "group", Directory: b.groups.Directory, Refuse: group.Refuse, Held: b.held, LoadBytes: int(g.OffsetsLoadBytes),
		New:           func() coordinator.Machine { return group.New(b.groups.Options) },
		CommitTimeout: g.CommitTimeout, Codec: compress.Codec(g.OffsetsCodec), Log: b.log,
	}))
	b.spawnLag()
}

// held tells whether the session with the controller lasts, so that it has given nothing of this broker's to others. A lone
// broker has nobody to lose anything to.
func (b *Broker) held(now time.Time) bool {
	return b.source.Image().BrokerCount() < 2 || b.lifecycle.held(now, b.cfg.Membership.SessionTimeout)
}

// tellMisread names a setting of groups that cannot be read; group is "" for the standard of the cluster.
func (b *Broker) tellMisread(group, key, text string) {
	b.log.Warn("a setting of consumer groups cannot be read: the broker's own stands for it", "group", group, "key", key, "value", text)
}

// mayDescribe asks the authorizer for a coordinator. Only requests lead to it, and they come when there is a node.
func (b *Broker) mayDescribe(who group.Asker, topic string) bool {
	client := &api.Client{Principal: who.Principal, Host: strings.TrimPrefix(who.Host, "/")}
	return b.node.Authorizer.Allowed(client, api.Describe, api.OnTopic, topic)
}

// spawnLag measures how far groups are behind, where somebody can see it.
func (b *Broker) spawnLag() {
	if b.cfg.Admin.Address == "" {
		return
	}
	leader := b.system.Spawn("lag-leader", lag.NewLeader(b.replicas))
	b.system.Spawn("lag", lag.New(&lag.Deps{
		Coordinators: b.groups.Directory, Every: b.cfg.Lag.Every, Board: &b.lag,
		Options: lag.Options{SeriesMax: int(b.cfg.Lag.SeriesMax), Partitions: b.cfg.Lag.Partitions},
		Leader: func(tp model.TopicPartition) model.BrokerID {
			if p, there := b.source.Image().Partition(tp); there {
				return p.Leader
			}
			return model.NoBroker
		},
		Ask: func(id model.BrokerID, q *lag.Question) {
			if id != b.cfg.NodeID {
				q.Fail(errElsewhere)
				return
			}
			leader.Send(q)
		},
	}))
}

// errElsewhere fails what only another broker could answer.
var errElsewhere = errors.New("the partitions are led by another broker")

// stopGroups sends the members of groups to look for their coordinator: those that wait for a rebalance would hold up
// the end of their connections.
func (b *Broker) stopGroups(ctx context.Context) error {
	return wait(ctx, b.system.Stop(b.refs.groups))
}
