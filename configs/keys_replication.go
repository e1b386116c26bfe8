package configs

// replicationKeys are about leaders and followers.
var replicationKeys = []Key{
	{Name: "controller.socket.timeout.ms", Type: Int, Default: "30000", Unit: "ms", Importance: Medium, Effect: Accepted, Reason: noControllerLink,
		Doc: "How long a request from broker to controller may wait for its answer."},
	{Name: "default.replication.factor", Type: Int, Default: "1", Unit: "replicas", Importance: Medium,
		Doc: "Replicas of topics that are created without a number of their own."},
	{Name: "replica.lag.time.max.ms", Type: Long, Default: "30000", Unit: "ms",
		Doc: "How long a follower may stay behind before it leaves the in-sync replicas."},
	{Name: "replica.socket.timeout.ms", Type: Int, Default: "30000", Unit: "ms",
		Doc: "How long a follower's fetch may wait for its answer."},
	{Name: "replica.socket.receive.buffer.bytes", Type: Int, Default: "65536", Unit: "bytes", Effect: Accepted, Reason: noLinkBuffers,
		Doc: "Kernel receive buffer of a follower's connection."},
	{Name: "replica.fetch.max.bytes", Type: Int, Default: "1048576", Valid: atLeast(0), Unit: "bytes", Importance: Medium,
		Doc: "Bytes of one partition that a follower asks for at once."},
	{Name: "replica.fetch.wait.max.ms", Type: Int, Default: "500", Unit: "ms",
		Doc: "How long a leader holds a follower's fetch when there is nothing new."},
	{Name: "replica.fetch.backoff.ms", Type: Int, Default: "1000", Valid: atLeast(0), Unit: "ms", Importance: Medium,
		Doc: "How long a follower rests after a failed fetch."},
	{Name: "replica.fetch.min.bytes", Type: Int, Default: "1", Unit: "bytes",
		Doc: "Bytes that must have arrived before a follower's fetch is answered early."},
	{Name: "replica.fetch.response.max.bytes", Type: Int, Default: "10485760", Valid: atLeast(0), Unit: "bytes", Importance: Medium,
		Doc: "Most bytes in one reply to a follower."},
	{Name: "num.replica.fetchers", Type: Int, Default: "1", Valid: atLeast(1), Mode: ClusterWide, Effect: Accepted, Reason: noFetchers,
		Doc: "How many connections a follower fetches with from each leader."},
	{Name: "replica.high.watermark.checkpoint.interval.ms", Type: Long, Default: "5000", Unit: "ms",
		Doc: "How often high watermarks are written to disk."},
	{Name: "fetch.purgatory.purge.interval.requests", Type: Int, Default: "1000", Importance: Medium, Effect: Accepted, Reason: noPurgatory,
		Doc: "How often Kafka would clear waiting fetches that were answered."},
	{Name: "producer.purgatory.purge.interval.requests", Type: Int, Default: "1000", Importance: Medium, Effect: Accepted, Reason: noPurgatory,
		Doc: "How often Kafka would clear waiting produce requests that were answered."},
	{Name: "delete.records.purgatory.purge.interval.requests", Type: Int, Default: "1", Importance: Medium, Effect: Accepted, Reason: noPurgatory,
		Doc: "How often Kafka would clear waiting record deletions that were answered."},
	{Name: "auto.leader.rebalance.enable", Type: Boolean, Default: "true",
		Doc: "Whether leadership returns to the preferred replica by itself."},
	{Name: "leader.imbalance.check.interval.seconds", Type: Long, Default: "300", Valid: atLeast(1), Unit: "s",
		Doc: "How often the controller looks for leaders to return."},
	{Name: "unclean.leader.election.interval.ms", Type: Long, Default: "300000", Valid: atLeast(1), Unit: "ms", Importance: Medium, Internal: true,
		Doc: "How often the controller looks for partitions that may elect a leader from outside the in-sync replicas."},
	{Name: "unclean.leader.election.enable", Type: Boolean, Default: "false", Mode: ClusterWide,
		Doc: "Whether a replica that is not in sync may lead when no other is left, which loses records."},
	{Name: "security.inter.broker.protocol", Type: String, Default: "PLAINTEXT", Valid: oneOf("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"), Importance: Medium,
		Doc: "Names the listener between brokers by its protocol, when inter.broker.listener.name does not. Only PLAINTEXT is available."},
	{Name: "inter.broker.listener.name", Type: String, Null: true, Importance: Medium,
		Doc: "The listener on which brokers reach each other."},
	{Name: "replica.selector.class", Type: String, Null: true, Importance: Medium, Valid: oneOf(LeaderSelector, RackAwareSelector),
		Doc: "Which replica a consumer reads from: the leader, or one that is in sync in the consumer's rack (client.rack)."},
	{Name: "follower.fetch.last.tiered.offset.enable", Type: Boolean, Default: "false", Mode: ClusterWide, Importance: Medium, Effect: Refused, Reason: noTiering,
		Doc: "Whether a new follower starts at what is not yet in remote storage."},
}

// The selectors of replica.selector.class that Kafka brings along; there are no others.
const (
	LeaderSelector    = "org.apache.kafka.common.replica.LeaderSelector"
	RackAwareSelector = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
)
