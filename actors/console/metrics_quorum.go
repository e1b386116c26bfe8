package console

// The high watermark moves with every change of metadata; one that stands still on one broker alone says that it is cut off.
var (
	raftState         = desc("kafka_server_raft_metrics_current_state", "1; the label tells this node's part in the metadata quorum.", "state")
	raftLeader        = desc("kafka_server_raft_metrics_current_leader", "Node that leads the metadata quorum; -1 while none is known.")
	raftVote          = desc("kafka_server_raft_metrics_current_vote", "Node that this one voted for in the epoch; -1 for none.")
	raftEpoch         = desc("kafka_server_raft_metrics_current_epoch", "Epoch of the metadata quorum.")
	raftHighWatermark = desc("kafka_server_raft_metrics_high_watermark", "Offset before which the metadata log is committed.")
	raftLogEnd        = desc("kafka_server_raft_metrics_log_end_offset", "Offset after the last record of this node's metadata log.")
	raftVoters        = desc("kafka_server_raft_metrics_number_of_voters", "Voters of the metadata quorum.")
	raftObservers     = desc("kafka_server_raft_metrics_number_of_observers", "Nodes that fetch the metadata log from this leader without a vote.")
	raftCommitMs      = desc("kafka_server_raft_metrics_commit_latency_avg",
		"Time from a proposal to its commit in milliseconds, a moving average of this leader's; 0 before the first.")
	raftElections = desc("troupe_quorum_elections_total", "Epochs of the metadata quorum that began while this process ran.")
	metadataEnd   = desc("kafka_server_broker_metadata_metrics_last_applied_record_offset",
		"Offset of the last metadata record that this broker has applied; behind the high watermark it acts on an older state.")
)

// collectQuorum tells how this node sees the metadata quorum.
func (s *Server) collectQuorum(e emitter) {
	q := s.deps.Node.Quorum()
	e.gauge(raftState, 1, q.State.String())
	e.gauge(raftLeader, float64(q.Leader))
	e.gauge(raftVote, float64(q.Voted.ID))
	e.gauge(raftEpoch, float64(q.LeaderEpoch))
	e.gauge(raftHighWatermark, float64(q.HighWatermark))
	e.gauge(raftLogEnd, float64(q.LogEnd))
	e.gauge(raftVoters, float64(q.Voters))
	e.gauge(raftObservers, float64(q.Observers))
	e.gauge(raftCommitMs, inMillis(q.CommitLatency))
	e.counter(raftElections, float64(q.Elections))
	e.gauge(metadataEnd, float64(s.deps.Node.Image().Offset))
}
