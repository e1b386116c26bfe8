package configs

// quorumKeys are about the metadata quorum.
var quorumKeys = []Key{
	{Name: "controller.quorum.voters", Type: List, Valid: voterList,
		Doc: "The voters of the metadata quorum, as ID@HOST:PORT between commas: the same on every node, and fixed."},
	{Name: "controller.quorum.bootstrap.servers", Type: List, Valid: endpointList,
		Doc: "Addresses at which to find the metadata quorum, as HOST:PORT between commas; its voters may change."},
	{Name: "controller.quorum.election.timeout.ms", Type: Int, Default: "200", Valid: atLeast(50), Unit: "ms",
		Doc: "How long a voter hears nothing from a leader before it stands for election; each adds up to as much again, by chance. A leader tells of itself ten times as often."},
	{Name: "controller.quorum.fetch.timeout.ms", Type: Int, Default: "2000", Valid: atLeast(0), Unit: "ms", Effect: Accepted, Reason: noFetchTimeout,
		Doc: "How long a voter may go without a successful fetch from the leader."},
	{Name: "controller.quorum.election.backoff.max.ms", Type: Int, Default: "1000", Valid: atLeast(0), Unit: "ms", Effect: Accepted, Reason: noElectionBackoff,
		Doc: "Longest pause before another attempt after a lost election."},
	{Name: "controller.quorum.append.linger.ms", Type: Int, Default: "25", Valid: atLeast(0), Unit: "ms", Importance: Medium, Effect: Accepted, Reason: noRaftbatch,
		Doc: "How long the quorum's leader gathers records before it writes them."},
	{Name: "controller.quorum.request.timeout.ms", Type: Int, Default: "2000", Valid: atLeast(0), Unit: "ms", Importance: Medium,
		Doc: "How long a request within the quorum may wait for its answer."},
	{Name: "controller.quorum.retry.backoff.ms", Type: Int, Default: "20", Valid: atLeast(0), Unit: "ms", Importance: Low, Effect: Accepted, Reason: noRetryBackoff,
		Doc: "Pause before a request within the quorum is repeated."},
	{Name: "controller.quorum.auto.join.enable", Type: Boolean, Default: "false", Importance: Low,
		Doc: "Whether a controller that is no voter becomes one by itself, in place of what stood under its node.id before."},
	{Name: "controller.quorum.fetch.snapshot.max.bytes", Type: Int, Default: "1048576", Valid: atLeast(1), Unit: "bytes", Importance: Low,
		Doc: "Bytes of a checkpoint that are fetched at once."},
	{Name: "controller.quorum.fetch.max.bytes", Type: Int, Default: "1048576", Valid: atLeast(1), Unit: "bytes", Importance: Low,
		Doc: "Bytes of the metadata log that are fetched at once."},
}
