package api

// Bit fields of AclOperation codes: what a client may do on a broker without an authorizer (KIP-430).
const (
	// Read, Write, Create, Delete, Alter, Describe, DescribeConfigs, AlterConfigs.
	topicOperations int32 = 1<<3 | 1<<4 | 1<<5 | 1<<6 | 1<<7 | 1<<8 | 1<<10 | 1<<11
	// Create, Alter, Describe, ClusterAction, DescribeConfigs, AlterConfigs, IdempotentWrite.
	clusterOperations int32 = 1<<5 | 1<<7 | 1<<8 | 1<<9 | 1<<10 | 1<<11 | 1<<12
)

// internalTopic tells the topics that the cluster keeps for itself.
func internalTopic(name string) bool {
	switch name {
	case "__consumer_offsets", "__transaction_state", "__share_group_state":
		return true
	}
	return false
}
