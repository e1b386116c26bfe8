package console

import (
	"github.com/prometheus/client_golang/prometheus"

	"troupe/actors/kit"
)

// Sums by kind of actor: there may be ten thousand replicas, and GET /actors tells of each. They are what Kafka's idle
// shares of its thread pools tell: a kind whose queueing grows is where requests wait.
var (
	actorCount       = desc("troupe_actors", "Actors alive, by kind.", "kind")
	actorDepth       = desc("troupe_actor_mailbox_depth", "Messages waiting or being handled, by kind of actor.", "kind")
	actorBytes       = desc("troupe_actor_mailbox_bytes", "Bytes of the waiting messages that hold much, by kind of actor.", "kind")
	actorHandled     = desc("troupe_actor_messages_total", "Messages handled, by kind of actor.", "kind")
	actorRestarts    = desc("troupe_actor_restarts_total", "Restarts after panics, by kind of actor.", "kind")
	actorDeadLetters = desc("troupe_actor_dead_letters_total", "Messages to actors that had stopped, by kind of actor.", "kind")
	actorHandling    = desc("troupe_actor_handling_seconds", "Time to handle a message, by kind of actor; a sample of the messages.", "kind")
	actorQueueing    = desc("troupe_actor_queueing_seconds", "Time that a message waits in the mailbox, by kind of actor; a sample.", "kind")
	actorBatches     = desc("troupe_actor_batch_messages", "Messages found waiting at once, by kind of actor; a sample.", "kind")
)

// collectActors sums the actors that have stopped in, so that counters never fall.
func (s *Server) collectActors(e emitter) {
	for _, k := range s.deps.System.Stats() {
		e.gauge(actorCount, float64(k.Actors), k.Kind)
		e.gauge(actorDepth, float64(k.Depth), k.Kind)
		e.gauge(actorBytes, float64(k.Bytes), k.Kind)
		e.counter(actorHandled, float64(k.Handled), k.Kind)
		e.counter(actorRestarts, float64(k.Restarts), k.Kind)
		e.counter(actorDeadLetters, float64(k.DeadLetters), k.Kind)
		e.sampled(actorHandling, k.Handling, k.Kind)
		e.sampled(actorQueueing, k.Queueing, k.Kind)
		e.sampled(actorBatches, k.Batches, k.Kind)
	}
}

func (e emitter) sampled(d *prometheus.Desc, h kit.Histogram, labels ...string) {
	e.ch <- prometheus.MustNewConstHistogram(d, h.Count, h.Sum, h.Buckets, labels...)
}
