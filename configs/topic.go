package configs

import (
	"slices"
	"time"
)

// Topic is the configuration of one topic, resolved and parsed. A duration that Kafka's milliseconds could hold and a
// time.Duration cannot (more than 292 years) is the longest one; negative Retention and RetentionBytes mean no limit.
type Topic struct {
	SegmentBytes       int32         `key:"segment.bytes"`
	SegmentAge         time.Duration `key:"segment.ms"`
	SegmentJitter      time.Duration `key:"segment.jitter.ms"`
	SegmentIndexBytes  int32         `key:"segment.index.bytes"`
	IndexIntervalBytes int32         `key:"index.interval.bytes"`
	Preallocate        bool          `key:"preallocate"`
	FlushMessages      int64         `key:"flush.messages"`
	FlushInterval      time.Duration `key:"flush.ms"`

	RetentionBytes  int64         `key:"retention.bytes"`
	Retention       time.Duration `key:"retention.ms"`
	FileDeleteDelay time.Duration `key:"file.delete.delay.ms"`

	CleanupPolicy     []string      `key:"cleanup.policy"`
	DeleteRetention   time.Duration `key:"delete.retention.ms"`
	MinCompactionLag  time.Duration `key:"min.compaction.lag.ms"`
	MaxCompactionLag  time.Duration `key:"max.compaction.lag.ms"`
	MinCleanableRatio float64       `key:"min.cleanable.dirty.ratio"`

	MaxMessageBytes    int32         `key:"max.message.bytes"` // of one batch, compressed, with its overhead
	CompressionType    string        `key:"compression.type"`  // uncompressed, zstd, lz4, snappy, gzip or producer
	GzipLevel          int32         `key:"compression.gzip.level"`
	LZ4Level           int32         `key:"compression.lz4.level"`
	ZstdLevel          int32         `key:"compression.zstd.level"`
	TimestampType      string        `key:"message.timestamp.type"` // CreateTime or LogAppendTime
	TimestampBeforeMax time.Duration `key:"message.timestamp.before.max.ms"`
	TimestampAfterMax  time.Duration `key:"message.timestamp.after.max.ms"`

	MinInsyncReplicas int32 `key:"min.insync.replicas"`
	UncleanElection   bool  `key:"unclean.leader.election.enable"`

	LeaderThrottled   []string `key:"leader.replication.throttled.replicas"` // PARTITION:BROKER each, or *
	FollowerThrottled []string `key:"follower.replication.throttled.replicas"`
}

// Compacts tells whether old records of a key give way to the newest; records without a key are then refused.
func (t Topic) Compacts() bool { return slices.Contains(t.CleanupPolicy, "compact") }

// Deletes tells whether old segments are deleted by time and size.
func (t Topic) Deletes() bool { return slices.Contains(t.CleanupPolicy, "delete") }
