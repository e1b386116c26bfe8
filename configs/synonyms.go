package configs

// scaled is a broker key whose value, times factor, is the default of a topic key.
type scaled struct {
	name   string
	factor int64
}

// topicSynonyms gives for a topic key the broker keys that stand behind it; the first one that has a value counts
// (facts/topic-configs.csv).
var topicSynonyms = map[string][]scaled{
	"segment.bytes":                   {{"log.segment.bytes", 1}},
	"segment.ms":                      {{"log.roll.ms", 1}, {"log.roll.hours", 3600000}},
	"segment.jitter.ms":               {{"log.roll.jitter.ms", 1}, {"log.roll.jitter.hours", 3600000}},
	"segment.index.bytes":             {{"log.index.size.max.bytes", 1}},
	"flush.messages":                  {{"log.flush.interval.messages", 1}},
	"flush.ms":                        {{"log.flush.interval.ms", 1}, {"log.flush.scheduler.interval.ms", 1}},
	"retention.bytes":                 {{"log.retention.bytes", 1}},
	"retention.ms":                    {{"log.retention.ms", 1}, {"log.retention.minutes", 60000}, {"log.retention.hours", 3600000}},
	"max.message.bytes":               {{"message.max.bytes", 1}},
	"index.interval.bytes":            {{"log.index.interval.bytes", 1}},
	"delete.retention.ms":             {{"log.cleaner.delete.retention.ms", 1}},
	"min.compaction.lag.ms":           {{"log.cleaner.min.compaction.lag.ms", 1}},
	"max.compaction.lag.ms":           {{"log.cleaner.max.compaction.lag.ms", 1}},
	"file.delete.delay.ms":            {{"log.segment.delete.delay.ms", 1}},
	"min.cleanable.dirty.ratio":       {{"log.cleaner.min.cleanable.ratio", 1}},
	"cleanup.policy":                  {{"log.cleanup.policy", 1}},
	"unclean.leader.election.enable":  {{"unclean.leader.election.enable", 1}},
	"min.insync.replicas":             {{"min.insync.replicas", 1}},
	"compression.type":                {{"compression.type", 1}},
	"compression.gzip.level":          {{"compression.gzip.level", 1}},
	"compression.lz4.level":           {{"compression.lz4.level", 1}},
	"compression.zstd.level":          {{"compression.zstd.level", 1}},
	"preallocate":                     {{"log.preallocate", 1}},
	"message.timestamp.type":          {{"log.message.timestamp.type", 1}},
	"message.timestamp.before.max.ms": {{"log.message.timestamp.before.max.ms", 1}},
	"message.timestamp.after.max.ms":  {{"log.message.timestamp.after.max.ms", 1}},
	"local.retention.ms":              {{"log.local.retention.ms", 1}},
	"local.retention.bytes":           {{"log.local.retention.bytes", 1}},
	"remote.copy.lag.ms":              {{"log.remote.copy.lag.ms", 1}},
	"remote.copy.lag.bytes":           {{"log.remote.copy.lag.bytes", 1}},
}
