package console_test

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// samples are the series of an exposition, by name and labels as they are written.
type samples map[string]float64

func (n *node) metrics() samples {
	n.t.Helper()
	status, body := n.ask("GET", "/metrics")
	if status != 200 {
		n.t.Fatalf("GET /metrics: %d %s", status, body)
	}
	all := samples{}
	for _, line := range lines(body) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		v, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			n.t.Fatalf("%q: %v", line, err)
		}
		all[line[:at]] = v
	}
	return all
}

func TestMetricsCountWhatClientsDid(t *testing.T) {
	n := startNode(t)
	n.create("orders", 2)
	n.produce("orders", 0, "a", "b", "c")
	n.produce("orders", 1, "d")
	n.client.AddConsumePartitions(map[string]map[int32]kgo.Offset{"orders": {0: kgo.NewOffset().AtStart(), 1: kgo.NewOffset().AtStart()}})
	for got := 0; got < 4; got += n.client.PollFetches(n.context()).NumRecords() {
	}

	var m samples
	n.eventually("what was answered is counted", func() bool { // which is after the reply has left
		m = n.metrics()
		return m[`kafka_network_requestmetrics_totaltimems_count{request="FetchConsumer"}`] > 0 && m[`troupe_request_seconds_count{request="Produce"}`] == 4
	})
	// A batch of one record of one byte without key and headers is 69 bytes: 61 of the batch's header, and of the record
	// a length, attributes, two deltas, key and value lengths, the value and the count of headers.
	const batch = 61 + 8
	for series, want := range map[string]float64{
		`kafka_server_brokertopicmetrics_messagesin_total{topic="orders"}`:           4,
		`kafka_server_brokertopicmetrics_messagesin_total{topic=""}`:                 4,
		`kafka_server_brokertopicmetrics_bytesin_total{topic="orders"}`:              4 * batch,
		`kafka_server_brokertopicmetrics_bytesout_total{topic="orders"}`:             4 * batch,
		`kafka_server_brokertopicmetrics_totalproducerequests_total{topic="orders"}`: 4,
		`kafka_server_brokertopicmetrics_failedproducerequests_total{topic=""}`:      0,
		`kafka_log_log_logendoffset{partition="0",topic="orders"}`:                   3,
		`kafka_log_log_logstartoffset{partition="0",topic="orders"}`:                 0,
		`kafka_log_log_size{partition="1",topic="orders"}`:                           batch,
		`kafka_log_log_numlogsegments{partition="1",topic="orders"}`:                 1,
		`kafka_cluster_partition_insyncreplicascount{partition="0",topic="orders"}`:  1,
		`kafka_cluster_partition_underreplicated{partition="0",topic="orders"}`:      0,
		`kafka_server_replicamanager_partitioncount`:                                 2,
		`kafka_server_replicamanager_leadercount`:                                    2,
		`kafka_server_replicamanager_produceridcount`:                                2, // one producer in two partitions
		`kafka_server_replicamanager_underreplicatedpartitions`:                      0,
		`kafka_server_replicamanager_offlinereplicacount`:                            0,
		`kafka_server_kafkaserver_brokerstate`:                                       3,
		`kafka_server_fetchsessioncache_numincrementalfetchsessions`:                 1,
		`kafka_controller_kafkacontroller_activecontrollercount`:                     1,
		`kafka_controller_kafkacontroller_globaltopiccount`:                          1,
		`kafka_controller_kafkacontroller_globalpartitioncount`:                      2,
		`kafka_controller_kafkacontroller_activebrokercount`:                         1,
		`kafka_log_logmanager_offlinelogdirectorycount`:                              0,
		`kafka_network_requestmetrics_totaltimems_count{request="Produce"}`:          4,
		`troupe_request_seconds_count{request="Produce"}`:                            4,
		`kafka_network_requestmetrics_localtimems_count{request="Produce"}`:          4,
		`kafka_network_requestmetrics_remotetimems_sum{request="Produce"}`:           0,
		`kafka_network_requestmetrics_errors_total{error="NONE",request="Produce"}`:  4,
		`troupe_actors{kind="replica"}`:                                              2,
		`troupe_actor_restarts_total{kind="replica"}`:                                0,
	} {
		if got, there := m[series]; !there || got != want {
			t.Errorf("%s is %v (there: %v), want %v", series, got, there, want)
		}
	}
	for _, series := range []string{
		`kafka_server_socket_server_metrics_connection_count{listener="PLAINTEXT"}`,
		`kafka_network_requestmetrics_totaltimems{request="Produce",quantile="0.99"}`,
		`kafka_network_requestmetrics_totaltimems_count{request="FetchConsumer"}`,
		`troupe_request_seconds_bucket{request="Produce",le="+Inf"}`,
		`troupe_actor_messages_total{kind="disk-append"}`,
		`troupe_connections_total`, `go_goroutines`, `process_open_fds`,
	} {
		if m[series] <= 0 {
			t.Errorf("%s is %v, want more than 0", series, m[series])
		}
	}
}

func TestProducersThatExpireAreNotCounted(t *testing.T) {
	n := startNode(t, "producer.id.expiration.ms=2000", "producer.id.expiration.check.interval.ms=50", "log.initial.task.delay.ms=10")
	n.create("orders", 3)
	for p := range int32(3) {
		n.produce("orders", p, "a")
	}
	count := func() float64 { return n.metrics()["kafka_server_replicamanager_produceridcount"] }
	n.eventually("they are counted, one a partition", func() bool { return count() == 3 })
	n.eventually("they are forgotten", func() bool { return count() == 0 })
}

func TestFsyncsAreTimed(t *testing.T) {
	n := startNode(t, "log.flush.interval.messages=1")
	n.create("safe", 1)
	n.produce("safe", 0, "a", "b")
	m := n.metrics()
	if got := m["kafka_log_logflushstats_logflushrateandtimems_count"]; got < 2 {
		t.Errorf("%v fsyncs counted, want at least 2", got)
	}
	if m[`kafka_log_logflushstats_logflushrateandtimems{quantile="0.5"}`] <= 0 {
		t.Error("an fsync took no time")
	}
}

func TestATopicThatIsDeletedLeavesTheSeriesAndStaysInTheTotal(t *testing.T) {
	n := startNode(t)
	n.create("short", 1)
	n.produce("short", 0, "a")
	if n.metrics()[`kafka_server_brokertopicmetrics_messagesin_total{topic="short"}`] != 1 {
		t.Fatal("the topic is not counted")
	}
	n.delete("short")
	m := n.metrics()
	if _, there := m[`kafka_server_brokertopicmetrics_messagesin_total{topic="short"}`]; there {
		t.Error("the deleted topic has a series")
	}
	if got := m[`kafka_server_brokertopicmetrics_messagesin_total{topic=""}`]; got != 1 {
		t.Errorf("the total is %v, want 1", got)
	}
}

// What begins with kafka_ has a name that dashboards know: a customary one, or one made of a bean of which another
// attribute is customary.
func TestNamesOfKafkaAreTheCustomaryOnes(t *testing.T) {
	text, err := os.ReadFile("testdata/customary-names.txt")
	if err != nil {
		t.Fatal(err)
	}
	customary := lines(string(text))
	beans := []string{
		"kafka_cluster_partition_", "kafka_server_raft_metrics_", "kafka_server_broker_metadata_metrics_", "kafka_server_group_coordinator_metrics_",
		"kafka_coordinator_group_groupmetadatamanager_",
	}
	n := startNode(t)
	n.create("orders", 1)
	n.produce("orders", 0, "a")
	for series := range n.metrics() {
		name, _, _ := strings.Cut(series, "{")
		if !strings.HasPrefix(name, "kafka_") {
			continue
		}
		base := strings.TrimSuffix(strings.TrimSuffix(name, "_count"), "_sum")
		ofBean := slices.ContainsFunc(beans, func(b string) bool { return strings.HasPrefix(name, b) })
		if !ofBean && !slices.Contains(customary, name) && !slices.Contains(customary, base) {
			t.Errorf("%s is no customary name", name)
		}
	}
}

func TestEveryMetricIsExplained(t *testing.T) {
	page, err := os.ReadFile("../../docs/operations/observability.md")
	if err != nil {
		t.Fatal(err)
	}
	n := startNode(t)
	n.create("orders", 1)
	n.produce("orders", 0, "a")
	for series := range n.metrics() {
		name, _, _ := strings.Cut(series, "{")
		if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") {
			continue
		}
		of := name // that of a histogram or summary
		for _, part := range []string{"_bucket", "_count", "_sum"} {
			of = strings.TrimSuffix(of, part)
		}
		if !strings.Contains(string(page), "`"+name+"`") && !strings.Contains(string(page), "`"+of+"`") {
			t.Errorf("docs/operations/observability.md does not tell of %s", name)
		}
	}
}
