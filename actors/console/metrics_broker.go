package console

import "troupe/internal/vfs"

var (
	brokerState = desc("kafka_server_kafkaserver_brokerstate",
		"1 starting, 2 recovering logs, 3 running, 6 moving leaderships away, 7 shutting down.")
	clusterID = desc("kafka_server_kafkaserver_clusterid", "1; the label tells the cluster's id.", "clusterid")
	// Bytes in flight and descriptors are budgets: at their limits clients are held back or refused, and the broker goes on.
	connectionCount  = desc("kafka_server_socket_server_metrics_connection_count", "Open connections.", "listener")
	connectionsTotal = desc("troupe_connections_total", "Connections accepted.")
	fetchSessions    = desc("kafka_server_fetchsessioncache_numincrementalfetchsessions", "Incremental fetch sessions held.")
	fetchEvictions   = desc("kafka_server_fetchsessioncache_incrementalfetchsessionevictions_total", "Fetch sessions evicted for others.")
	inFlightBytes    = desc("troupe_in_flight_bytes", "Bytes of requests that are read and not answered (in.flight.max.bytes).")
	descriptors      = desc("troupe_descriptors", "File descriptors in use, by what they are for.", "share")
	descriptorsMax   = desc("troupe_descriptors_limit", "File descriptors that there may be, by what they are for.", "share")
)

// collectBroker tells what every broker has, whatever it leads.
func (s *Server) collectBroker(e emitter) {
	e.gauge(brokerState, float64(s.deps.State()))
	sessions, evicted := s.deps.Node.Sessions.Count()
	e.gauge(fetchSessions, float64(sessions))
	e.counter(fetchEvictions, float64(evicted))
}

// collectNode tells of the process as a whole. A listener without connections is told of too, so that its series does
// not come and go with them.
func (s *Server) collectNode(e emitter) {
	n := s.deps.Node
	e.gauge(clusterID, 1, n.Image().ClusterID)
	open, accepted := s.deps.Connections()
	for _, l := range n.Config.Listeners {
		e.gauge(connectionCount, float64(open[l.Name]), l.Name)
	}
	e.counter(connectionsTotal, float64(accepted))
	e.gauge(inFlightBytes, float64(s.deps.InFlight.Used()))
	for share, name := range map[vfs.Share]string{vfs.ShareFiles: "files", vfs.ShareLinks: "links", vfs.ShareConnections: "connections"} {
		used, limit := s.deps.Descriptors.Used(share)
		e.gauge(descriptors, float64(used), name)
		e.gauge(descriptorsMax, float64(limit), name)
	}
}
