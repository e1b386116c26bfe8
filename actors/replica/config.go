package replica

import (
	"math"
	"time"

	"troupe/actors/throttle"
	"troupe/codec/batch"
	"troupe/codec/compress"
	"troupe/configs"
	"troupe/partitionlog"
)

// Config is what a replica, and those who check batches for it, need of its topic's configuration. It is immutable.
type Config struct {
	Log           partitionlog.Config
	MinISR        int
	MaxBatchBytes int
	SegmentBytes  int
	// Rules hold for produced batches, but for the version and the time, which come with the request.
	Rules         batch.Rules
	Recompress    *Recompression // nil keeps the producer's codec
	FlushMessages int64          // flush.messages
	FlushAfter    time.Duration  // flush.ms; 0 for never
	// LeaderThrottled and FollowerThrottled are the replicas for which the quotas between brokers hold.
	LeaderThrottled, FollowerThrottled throttle.Replicas
}

// Recompression is the codec that compression.type asks for.
type Recompression struct {
	Codec compress.Codec
	Level int
}

// ConfigOf takes what matters here from a topic's resolved configuration.
func ConfigOf(t configs.Topic) *Config {
	logAppend := t.TimestampType == "LogAppendTime"
	c := &Config{
		Log: partitionlog.Config{
			SegmentBytes: int64(t.SegmentBytes), SegmentMs: millis(t.SegmentAge), SegmentJitterMs: millis(t.SegmentJitter),
			IndexBytes: int64(t.SegmentIndexBytes), IndexIntervalBytes: int64(t.IndexIntervalBytes),
			LogAppendTime: logAppend, Preallocate: t.Preallocate, DeleteOld: t.Deletes(),
			RetentionMs: millis(t.Retention), RetentionBytes: t.RetentionBytes, FileDeleteDelayMs: millis(t.FileDeleteDelay),
			Compact: t.Compacts(), MinCleanableRatio: t.MinCleanableRatio, DeleteRetentionMs: millis(t.DeleteRetention),
			MinCompactionMs: millis(t.MinCompactionLag), MaxCompactionMs: millis(t.MaxCompactionLag),
		},
		MinISR: int(t.MinInsyncReplicas), MaxBatchBytes: int(t.MaxMessageBytes), SegmentBytes: int(t.SegmentBytes),
		Rules: batch.Rules{
			CompactedTopic: t.Compacts(), BeforeMaxMs: millis(t.TimestampBeforeMax), AfterMaxMs: millis(t.TimestampAfterMax),
		},
		Recompress: recompression(t), FlushMessages: t.FlushMessages,
		LeaderThrottled: throttle.ParseReplicas(t.LeaderThrottled), FollowerThrottled: throttle.ParseReplicas(t.FollowerThrottled),
	}
	if logAppend {
		c.Rules.TimestampType = batch.LogAppendTime
	}
	if t.FlushInterval < forever {
		c.FlushAfter = max(t.FlushInterval, time.Millisecond)
	}
	return c
}

// forever is what a duration beyond what time.Duration holds is read as.
const forever = time.Duration(math.MaxInt64)

// millis keeps "never" never and "no limit" negative.
func millis(d time.Duration) int64 {
	switch {
	case d == forever:
		return math.MaxInt64
	case d < 0:
		return -1
	default:
		return d.Milliseconds()
	}
}

// recompression is nil where batches are stored as they come: compression.type=producer, the default. Any other value
// costs the broker a decompression and a compression of each batch that comes in another form.
func recompression(t configs.Topic) *Recompression {
	switch t.CompressionType {
	case "gzip":
		return &Recompression{compress.Gzip, int(t.GzipLevel)}
	case "lz4":
		return &Recompression{compress.LZ4, int(t.LZ4Level)}
	case "zstd":
		return &Recompression{compress.Zstd, int(t.ZstdLevel)}
	case "snappy":
		return &Recompression{compress.Snappy, 0}
	case "uncompressed":
		return &Recompression{compress.None, 0}
	default: // producer
		return nil
	}
}
