package trace

import (
	"slices"
	"strings"
	"sync"
)

// Rule says what is traced. The zero Rule traces nothing.
type Rule struct {
	// OneIn samples one of so many requests at Tracer.Start; 1 samples all, 0 none.
	OneIn int `json:"oneIn"`
	// Filters trace, besides, each request and message that one of them matches, whether a traced one caused it or not.
	Filters []Filter `json:"filters,omitempty"`
}

// Filter matches messages by their receiver and kind; what is empty matches everything.
type Filter struct {
	Actor     string `json:"actor,omitempty"`     // prefix of the receiver's name, such as "replicas/3/"
	ActorKind string `json:"actorKind,omitempty"` // kind of the receiver, such as "replica"
	Message   string `json:"message,omitempty"`   // kind of the message, or name of the request
}

// Matches tells whether a message to an actor of that name and kind is meant.
func (f Filter) Matches(actor, actorKind, message string) bool {
	return strings.HasPrefix(actor, f.Actor) &&
		(f.ActorKind == "" || f.ActorKind == actorKind) &&
		(f.Message == "" || f.Message == message)
}

// rules are the standing one and those of whoever watches at present.
type rules struct {
	mu       sync.Mutex
	standing Rule
	beside   []*Rule
}

// SetRule replaces the standing rule from now on. Traces under way go on to their end.
func (t *Tracer) SetRule(r Rule) {
	t.rules.mu.Lock()
	defer t.rules.mu.Unlock()
	t.rules.standing = r
	t.enforce()
}

// Rule is the standing rule.
func (t *Tracer) Rule() Rule {
	t.rules.mu.Lock()
	defer t.rules.mu.Unlock()
	return t.rules.standing
}

// AddRule traces what r asks for beside the standing rule, until remove is called. Of several samplings the one that
// samples most counts.
func (t *Tracer) AddRule(r Rule) (remove func()) {
	t.rules.mu.Lock()
	defer t.rules.mu.Unlock()
	added := &r
	t.rules.beside = append(t.rules.beside, added)
	t.enforce()
	return func() {
		t.rules.mu.Lock()
		defer t.rules.mu.Unlock()
		t.rules.beside = slices.DeleteFunc(t.rules.beside, func(o *Rule) bool { return o == added })
		t.enforce()
	}
}

// enforce puts the rules together for those who ask at each message; it runs under the rules' lock.
func (t *Tracer) enforce() {
	oneIn, filters := max(t.rules.standing.OneIn, 0), slices.Clone(t.rules.standing.Filters)
	for _, r := range t.rules.beside {
		if r.OneIn > 0 && (oneIn == 0 || r.OneIn < oneIn) {
			oneIn = r.OneIn
		}
		filters = append(filters, r.Filters...)
	}
	t.filters.Store(&filters)
	t.oneIn.Store(uint64(oneIn))
	t.filtering.Store(len(filters) > 0)
}
