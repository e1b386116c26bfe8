package replica

import "sync/atomic"

// Counts are what the replicas of a broker moved and asked for, by the names of Kafka's ReplicaManager and BrokerTopicMetrics.
// All of them only grow.
type Counts struct {
	// Shrinks and Expansions of ISRs that the controller has taken, and proposals that it has not.
	Shrinks, Expansions, Refused atomic.Int64
	// CopiedIn are bytes from leaders elsewhere, CopiedOut to followers; MovedIn those of partitions that move here.
	CopiedIn, CopiedOut, MovedIn atomic.Int64
}
