package api

// handlers is the coverage table.
var handlers = []*Handler{
	produce,
	fetch,
	metadata,
	apiVersions,
	createTopics,
	deleteTopics,
	alterConfigs,
	createPartitions,
	electLeaders,
	incrementalAlterConfigs,
	alterPartitionReassignments,
	listPartitionReassignments,
	updateFeatures,
	unregisterBroker,
}
