package configs

import "time"

// Throttles bound what replicas take that are being moved (KIP-73, KIP-113). The rates may change while the broker runs.
type Throttles struct {
	LeaderRate       int64         `key:"leader.replication.throttled.rate"`   // bytes a second
	FollowerRate     int64         `key:"follower.replication.throttled.rate"` // bytes a second
	DirectoryRate    int64         `key:"replica.alter.log.dirs.io.max.bytes.per.second"`
	Windows          int32         `key:"replication.quota.window.num"`
	Window           time.Duration `key:"replication.quota.window.size.seconds"`
	DirectoryWindows int32         `key:"alter.log.dirs.replication.quota.window.num"`
	DirectoryWindow  time.Duration `key:"alter.log.dirs.replication.quota.window.size.seconds"`
}
