package configs

import (
	"time"

	"troupe/internal/model"
)

// Broker is the configuration of one broker, parsed. The tag of a field names its key in the tables; sizes are in
// bytes. Defaults of topics are not here: Layers.Topic resolves them.
type Broker struct {
	NodeID model.BrokerID `key:"node.id"`
	Roles  Roles
	Rack   string `key:"broker.rack"` // empty: none

	Listeners   []Listener
	InterBroker string // the name of the listener on which brokers reach each other

	// LogDirs has at least one path; MetadataDir is metadata.log.dir, or the first of LogDirs. CordonedDirs are those of LogDirs that
	// take no new replicas; they may change while the broker runs.
	LogDirs      []string
	MetadataDir  string
	CordonedDirs []string `key:"cordoned.log.dirs"`

	Topics       Topics
	Log          Log
	Cleaner      Cleaner
	Socket       Socket
	Fetch        Fetch
	Producers    Producers
	Quorum       Quorum
	Membership   Membership
	Gossip       Gossip
	Metadata     Metadata
	Replication  Replication
	Throttles    Throttles
	Groups       Groups
	Transactions Transactions
	Admin        Admin
	Output       Output
	Trace        Trace
	Lag          Lag
	Budgets      Budgets
	Disk         Disk

	// ShutdownTimeout bounds the draining of requests after the first signal.
	ShutdownTimeout time.Duration `key:"shutdown.timeout.ms"`
}

// Topics is what creating, deleting and describing topics needs beside a topic's own configuration.
type Topics struct {
	AutoCreate        bool  `key:"auto.create.topics.enable"`
	Deletable         bool  `key:"delete.topic.enable"`
	Partitions        int32 `key:"num.partitions"`
	ReplicationFactor int32 `key:"default.replication.factor"`
	DescribeMax       int32 `key:"max.request.partition.size.limit"` // partitions in one DescribeTopicPartitions reply
}

// Log is the upkeep of all partition logs.
type Log struct {
	RetentionCheck    time.Duration `key:"log.retention.check.interval.ms"`
	RecoveryPoint     time.Duration `key:"log.flush.offset.checkpoint.interval.ms"`
	StartOffset       time.Duration `key:"log.flush.start.offset.checkpoint.interval.ms"`
	HighWatermark     time.Duration `key:"replica.high.watermark.checkpoint.interval.ms"`
	InitialTaskDelay  time.Duration `key:"log.initial.task.delay.ms"`
	RecoveryPerDirMax int32         `key:"num.recovery.threads.per.data.dir"` // logs recovered at once
}

// Cleaner is how logs are compacted; when is a matter of each topic.
type Cleaner struct {
	Enabled     bool          `key:"log.cleaner.enable"`
	Threads     int32         `key:"log.cleaner.threads"`                 // logs at once
	BytesPerSec float64       `key:"log.cleaner.io.max.bytes.per.second"` // read and written, in all
	MapBytes    int64         `key:"log.cleaner.dedupe.buffer.size"`      // for keys, in all
	MapLoad     float64       `key:"log.cleaner.io.buffer.load.factor"`
	BufferBytes int32         `key:"log.cleaner.io.buffer.size"` // for reading and writing, in all
	Backoff     time.Duration `key:"log.cleaner.backoff.ms"`
}

// Socket is what every connection gets. A buffer size of -1 leaves the system's own.
type Socket struct {
	SendBufferBytes    int32            `key:"socket.send.buffer.bytes"`
	ReceiveBufferBytes int32            `key:"socket.receive.buffer.bytes"`
	RequestMaxBytes    int32            `key:"socket.request.max.bytes"`
	IdleMax            time.Duration    `key:"connections.max.idle.ms"`
	ConnectionsMax     int32            `key:"max.connections"`
	PerAddressMax      int32            `key:"max.connections.per.ip"`
	PerAddress         map[string]int32 // max.connections.per.ip.overrides: host or address to its limit
	CreationRate       int32            `key:"max.connection.creation.rate"` // connections a second
}

// Fetch bounds fetch replies and fetch sessions (KIP-227).
type Fetch struct {
	MaxBytes     int32 `key:"fetch.max.bytes"`
	SessionSlots int32 `key:"max.incremental.fetch.session.cache.slots"`
}

// Producers is how long idempotent producers are remembered.
type Producers struct {
	Expiration      time.Duration `key:"producer.id.expiration.ms"`
	ExpirationCheck time.Duration `key:"producer.id.expiration.check.interval.ms"`
}

// Membership is how brokers register and stay unfenced.
type Membership struct {
	Heartbeat           time.Duration `key:"broker.heartbeat.interval.ms"`
	SessionTimeout      time.Duration `key:"broker.session.timeout.ms"`
	RegistrationTimeout time.Duration `key:"initial.broker.registration.timeout.ms"`
}

// Roles is what the process does: a broker serves clients, a controller may vote in the metadata quorum. Every node is a
// broker; one that is no controller observes the quorum.
type Roles struct {
	Broker     bool
	Controller bool
}

// Quorum is the metadata quorum seen from this node.
//
// Invariants, which resolveQuorum keeps:
//  1. A controller is among Voters unless they are empty, and a broker that is no controller is not.
//  2. InitialVoters is 0 where Voters are given and on a node that is no controller.
//  3. A node that is not a quorum by itself has a Listener.
type Quorum struct {
	Voters    []Voter    // the static quorum (KIP-595), under kraft.version 0
	Bootstrap []Endpoint // where a dynamic one is found (KIP-853)
	// Listener is the first of controller.listener.names, on which nodes reach controllers; empty when there is none.
	Listener string
	// InitialVoters is how many nodes that find one another by Bootstrap make a new cluster, which 1 does alone; 0
	// makes none, so that a node with empty directories waits until it is told by a cluster that there is.
	InitialVoters int32 `key:"controller.quorum.initial.voters"`
	AutoJoin      bool  `key:"controller.quorum.auto.join.enable"`

	ElectionTimeout  time.Duration `key:"controller.quorum.election.timeout.ms"`
	RequestTimeout   time.Duration `key:"controller.quorum.request.timeout.ms"`
	FetchMaxBytes    int32         `key:"controller.quorum.fetch.max.bytes"`
	SnapshotMaxBytes int32         `key:"controller.quorum.fetch.snapshot.max.bytes"` // of one fetch of a checkpoint
}

// Metadata is the metadata log: when it is checkpointed, rolled and deleted.
type Metadata struct {
	SnapshotBytes    int64         `key:"metadata.log.max.record.bytes.between.snapshots"`
	SnapshotInterval time.Duration `key:"metadata.log.max.snapshot.interval.ms"`
	SegmentBytes     int32         `key:"metadata.log.segment.bytes"`
	SegmentAge       time.Duration `key:"metadata.log.segment.ms"`
	RetentionBytes   int64         `key:"metadata.max.retention.bytes"`
	Retention        time.Duration `key:"metadata.max.retention.ms"`
}

// Replication is what followers and their leaders go by.
type Replication struct {
	LagMax           time.Duration `key:"replica.lag.time.max.ms"`
	SocketTimeout    time.Duration `key:"replica.socket.timeout.ms"`
	FetchMaxBytes    int32         `key:"replica.fetch.max.bytes"`
	FetchWaitMax     time.Duration `key:"replica.fetch.wait.max.ms"`
	FetchBackoff     time.Duration `key:"replica.fetch.backoff.ms"`
	FetchMinBytes    int32         `key:"replica.fetch.min.bytes"`
	ResponseMaxBytes int32         `key:"replica.fetch.response.max.bytes"`
	Selector         string        `key:"replica.selector.class"`
	// Balance has leaderships go back to first replicas every BalanceEvery; UncleanEvery is of elections that were allowed later.
	Balance      bool          `key:"auto.leader.rebalance.enable"`
	BalanceEvery time.Duration `key:"leader.imbalance.check.interval.seconds"`
	UncleanEvery time.Duration `key:"unclean.leader.election.interval.ms"`
}

// Groups is what group coordinators go by.
type Groups struct {
	OffsetsReplicationFactor int16         `key:"offsets.topic.replication.factor"`
	OffsetsPartitions        int32         `key:"offsets.topic.num.partitions"`
	OffsetsSegmentBytes      int32         `key:"offsets.topic.segment.bytes"`
	OffsetsCodec             int32         `key:"offsets.topic.compression.codec"`
	OffsetsRetention         time.Duration `key:"offsets.retention.minutes"`
	OffsetsRetentionCheck    time.Duration `key:"offsets.retention.check.interval.ms"`
	OffsetsLoadBytes         int32         `key:"offsets.load.buffer.size"`
	CommitTimeout            time.Duration `key:"offsets.commit.timeout.ms"`
	OffsetMetadataMaxBytes   int32         `key:"offset.metadata.max.bytes"`
	SessionTimeoutMin        time.Duration `key:"group.min.session.timeout.ms"`
	SessionTimeoutMax        time.Duration `key:"group.max.session.timeout.ms"`
	InitialRebalanceDelay    time.Duration `key:"group.initial.rebalance.delay.ms"`
	MembersMax               int32         `key:"group.max.size"`

	ConsumerSession        time.Duration `key:"group.consumer.session.timeout.ms"`
	ConsumerSessionMin     time.Duration `key:"group.consumer.min.session.timeout.ms"`
	ConsumerSessionMax     time.Duration `key:"group.consumer.max.session.timeout.ms"`
	ConsumerHeartbeat      time.Duration `key:"group.consumer.heartbeat.interval.ms"`
	ConsumerHeartbeatMin   time.Duration `key:"group.consumer.min.heartbeat.interval.ms"`
	ConsumerHeartbeatMax   time.Duration `key:"group.consumer.max.heartbeat.interval.ms"`
	ConsumerAssignment     time.Duration `key:"group.consumer.assignment.interval.ms"`
	ConsumerAssignmentMin  time.Duration `key:"group.consumer.min.assignment.interval.ms"`
	ConsumerAssignmentMax  time.Duration `key:"group.consumer.max.assignment.interval.ms"`
	ConsumerMembersMax     int32         `key:"group.consumer.max.size"`
	ConsumerAssignors      []string      `key:"group.consumer.assignors"`
	ConsumerMigration      string        `key:"group.consumer.migration.policy"`
	ConsumerPatternRefresh time.Duration `key:"group.consumer.regex.refresh.interval.ms"`
}

// Transactions is what transaction coordinators go by.
type Transactions struct {
	ReplicationFactor int16         `key:"transaction.state.log.replication.factor"`
	MinInsyncReplicas int32         `key:"transaction.state.log.min.isr"`
	Partitions        int32         `key:"transaction.state.log.num.partitions"`
	SegmentBytes      int32         `key:"transaction.state.log.segment.bytes"`
	TimeoutMax        time.Duration `key:"transaction.max.timeout.ms"`
	IDExpiration      time.Duration `key:"transactional.id.expiration.ms"`
}

// Admin is the port for metrics, health, profiles, actors and traces. An empty address opens none.
type Admin struct {
	Address string `key:"admin.address"`
	// Panics lets fault tests make actors panic.
	Panics bool `key:"test.panics"`
}

// Output is how the process logs: Format is logfmt or json; Level is debug, info, warn or error.
type Output struct {
	Format string `key:"log.format"`
	Level  string `key:"log.level"`
}

// Trace samples one message chain in SampleEvery (0: none) and keeps the last Spans.
type Trace struct {
	SampleEvery int32 `key:"trace.sample.every"`
	Spans       int32 `key:"trace.spans.max"`
}

// Lag is how the metrics tell of groups that are behind.
type Lag struct {
	Every      time.Duration `key:"group.lag.interval.ms"`
	SeriesMax  int32         `key:"group.lag.series.max"`
	Partitions bool          `key:"group.lag.partitions"`
}

// Budgets bound what the broker holds in all, so that many partitions or connections do not add up without end.
type Budgets struct {
	IndexBytes      int64 `key:"index.memory.max.bytes"`         // index entries in memory
	OpenFiles       int32 `key:"open.files.max"`                 // descriptors; 0 takes the process's limit
	QueuedBytes     int64 `key:"queued.max.request.bytes"`       // requests read and not yet answered; -1 is no limit
	InFlightBytes   int64 `key:"in.flight.max.bytes"`            // requests, queued replies and pinned regions of the broker
	ConnectionBytes int64 `key:"connection.in.flight.max.bytes"` // the same of one connection
}

// Disk is how many lanes of each kind a log directory has.
type Disk struct {
	AppendLanes int32 `key:"disk.append.lanes"`
	ReadLanes   int32 `key:"disk.read.lanes"`
}
