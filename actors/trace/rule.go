package trace

import "strings"

// Rule says what is traced. The zero Rule traces nothing.
type Rule struct {
	// OneIn samples one of so many requests at Tracer.Start; 1 samples all, 0 none.
	OneIn int
	// Filters trace, besides, each message that one of them matches, whether a request caused it or a timer.
	Filters []Filter
}

// Filter matches messages by their receiver and kind; what is empty matches everything.
type Filter struct {
	Actor     string // prefix of the receiver's name, such as "replicas/3/"
	ActorKind string // kind of the receiver, such as "replica"
	Message   string // kind of the message
}

func (f Filter) matches(actor, actorKind, message string) bool {
	return strings.HasPrefix(actor, f.Actor) &&
		(f.ActorKind == "" || f.ActorKind == actorKind) &&
		(f.Message == "" || f.Message == message)
}
