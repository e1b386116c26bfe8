package group

// Event is something that metrics count (Options.Count). It is counted when it is decided, as in Kafka, so that what the log
// refuses after that is counted too.
type Event uint8

// The events, by the names of Kafka's group-coordinator-metrics.
const (
	OffsetCommitted   Event = iota // of one partition: offset-commit
	OffsetExpired                  // offset-expiration
	OffsetDeleted                  // by OffsetDelete: offset-deletion
	ClassicRebalanced              // the members have their next assignment: group-completed-rebalance
	// ConsumerRebalanced is a new epoch of a group of the consumer protocol: consumer-group-rebalance.
	ConsumerRebalanced
	events
)
