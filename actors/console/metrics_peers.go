package console

import "strconv"

var (
	peerUp       = desc("troupe_peer_up", "1 if the link to the other node stands.", "node", "link")
	peerLinks    = desc("troupe_peer_connections_total", "Connections made to the other node; above 1 it was lost and made anew.", "node", "link")
	peerCalls    = desc("troupe_peer_calls_total", "Requests made of the other node.", "node", "link")
	peerFailures = desc("troupe_peer_failures_total", "Requests that the other node has not answered.", "node", "link")
	peerSent     = desc("troupe_peer_sent_bytes_total", "Bytes of requests to the other node.", "node", "link")
	peerReceived = desc("troupe_peer_received_bytes_total", "Bytes of replies of the other node.", "node", "link")
)

// collectPeers tells of the links to other nodes; a node that is alone has none.
func (s *Server) collectPeers(e emitter) {
	for _, l := range s.deps.Node.Peers.Stats() {
		node := strconv.Itoa(int(l.Node))
		e.gauge(peerUp, float64(one(l.Up)), node, l.Link.String())
		e.counter(peerLinks, float64(l.Connections), node, l.Link.String())
		e.counter(peerCalls, float64(l.Calls), node, l.Link.String())
		e.counter(peerFailures, float64(l.Failures), node, l.Link.String())
		e.counter(peerSent, float64(l.SentBytes), node, l.Link.String())
		e.counter(peerReceived, float64(l.ReceivedBytes), node, l.Link.String())
	}
}
