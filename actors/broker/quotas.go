package broker

import (
	"troupe/actors/console"
	"troupe/actors/throttle"
	"troupe/configs"
)

// quotas bound what is moved to other brokers, from them, and between the log directories of this one.
type quotas struct {
	leader, follower, directories *throttle.Quota
}

// throttled tells how much each of them counts.
func (b *Broker) throttled() console.Throttled {
	now := b.clock.Now()
	return console.Throttled{Leader: b.quotas.leader.Rate(now), Follower: b.quotas.follower.Rate(now), Directories: b.quotas.directories.Rate(now)}
}

// newQuotas go by the rates of the latest image.
func (b *Broker) newQuotas() quotas {
	rates := func() *configs.Throttles { return &b.source.Broker().Throttles }
	t := b.cfg.Throttles
	between := throttle.Windows{Count: int(t.Windows), Length: t.Window}
	within := throttle.Windows{Count: int(t.DirectoryWindows), Length: t.DirectoryWindow}
	return quotas{
		leader:      throttle.NewQuota(between, func() int64 { return rates().LeaderRate }),
		follower:    throttle.NewQuota(between, func() int64 { return rates().FollowerRate }),
		directories: throttle.NewQuota(within, func() int64 { return rates().DirectoryRate }),
	}
}
