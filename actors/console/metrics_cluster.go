package console

import (
	"github.com/prometheus/client_golang/prometheus"

	"troupe/internal/model"
)

// replicaManager and kafkaController write the names of the beans' attributes as the JMX exporter does, in lower case.
func replicaManager(name, help string) *prometheus.Desc {
	return desc("kafka_server_replicamanager_"+name, help)
}

func kafkaController(name, help string) *prometheus.Desc {
	return desc("kafka_controller_kafkacontroller_"+name, help)
}

var (
	partitionCount  = replicaManager("partitioncount", "Replicas on this broker.")
	leaderCount     = replicaManager("leadercount", "Partitions that this broker leads.")
	offlineReplicas = replicaManager("offlinereplicacount", "Replicas whose log directory failed or whose log cannot be opened.")
	underReplicated = replicaManager("underreplicatedpartitions", "Partitions led here that have fewer in-sync replicas than replicas; want 0.")
	underMinISR     = replicaManager("underminisrpartitioncount", "Partitions led here with fewer in-sync replicas than min.insync.replicas; want 0.")
	atMinISR        = replicaManager("atminisrpartitioncount", "Partitions led here with just min.insync.replicas in sync.")
	producerCount   = replicaManager("produceridcount", "Producer ids that the logs here remember, one a partition.")
	reassigning     = replicaManager("reassigningpartitions", "Partitions led here that are being moved.")

	// Alert on a sum over the cluster that is not 1 for longer than an election takes.
	activeController  = kafkaController("activecontrollercount", "1 on the active controller; the sum over a cluster is 1.")
	offlinePartitions = kafkaController("offlinepartitionscount", "Partitions without a leader; want 0.")
	notPreferred      = kafkaController("preferredreplicaimbalancecount", "Partitions that another than their first replica leads.")
	globalTopics      = kafkaController("globaltopiccount", "Topics of the cluster.")
	globalPartitions  = kafkaController("globalpartitioncount", "Partitions of the cluster.")
	activeBrokers     = kafkaController("activebrokercount", "Brokers that are not fenced.")
	fencedBrokers     = kafkaController("fencedbrokercount", "Brokers that are fenced.")
	silentBrokers     = kafkaController("timedoutbrokerheartbeatcount", "Brokers that were fenced because no heartbeat came in time.")

	uncleanElections = desc("kafka_controller_controllerstats_uncleanleaderelections_total",
		"Leaders elected that may lack acknowledged records (unclean.leader.election.enable, and last known leaders); want 0.")
	eligibleElections = desc("kafka_controller_controllerstats_electionfromeligibleleaderreplicas_total",
		"Leaders elected from the eligible ones, when no replica was in sync.")
)

// collectReplicas tells of the partitions that have a replica here.
func (s *Server) collectReplicas(e emitter) {
	n := s.deps.Node
	var count, leading, offline, under, underMin, atMin, moving int
	var producers int64
	image, serving := n.Image(), s.deps.Ready() == ""
	for _, h := range n.Replicas.All() {
		count++
		producers += h.Producers()
		status := h.Status()
		offline += one(serving && !status.Online)
		p, known := image.Partition(h.TP)
		if !known || !status.Leader {
			continue
		}
		leading++
		minISR := min(h.Config().MinISR, len(p.Replicas))
		under += one(len(p.ISR) < len(p.Replicas))
		underMin += one(len(p.ISR) < minISR)
		atMin += one(len(p.ISR) == minISR)
		moving += one(p.Reassigning())
	}
	e.gauge(partitionCount, float64(count))
	e.gauge(leaderCount, float64(leading))
	e.gauge(offlineReplicas, float64(offline))
	e.gauge(underReplicated, float64(under))
	e.gauge(underMinISR, float64(underMin))
	e.gauge(atMinISR, float64(atMin))
	e.gauge(reassigning, float64(moving))
	e.gauge(producerCount, float64(producers))
}

// collectController tells of the whole cluster as this broker's metadata has it, on the active controller alone: the
// others know it too, but sums over a cluster would count everything several times. What this node has decided while it was the
// controller it tells ever after.
func (s *Server) collectController(e emitter) {
	n := s.deps.Node
	q := n.Quorum()
	active := q.Leader == n.ID
	e.gauge(activeController, float64(one(active)))
	e.gauge(silentBrokers, float64(q.Decided.Silent))
	e.counter(uncleanElections, float64(q.Decided.Unclean))
	e.counter(eligibleElections, float64(q.Decided.FromELR))
	if !active {
		return
	}
	image := n.Image()
	offline, imbalanced, fenced := 0, 0, 0
	for t := range image.Topics("") {
		for _, p := range t.Partitions {
			offline += one(p.Leader == model.NoBroker)
			imbalanced += one(len(p.Replicas) > 0 && p.Leader != p.Replicas[0])
		}
	}
	for b := range image.Brokers() {
		fenced += one(b.Fenced)
	}
	e.gauge(offlinePartitions, float64(offline))
	e.gauge(notPreferred, float64(imbalanced))
	e.gauge(globalTopics, float64(image.TopicCount()))
	e.gauge(globalPartitions, float64(image.PartitionCount()))
	e.gauge(activeBrokers, float64(image.BrokerCount()-fenced))
	e.gauge(fencedBrokers, float64(fenced))
}

// one is how Kafka's metrics say yes.
func one(is bool) int {
	if is {
		return 1
	}
	return 0
}
