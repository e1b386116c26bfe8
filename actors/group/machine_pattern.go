package group

import (
	"regexp"
	"slices"
	"time"

	"troupe/actors/coordinator/timeline"
	"troupe/actors/group/record"
)

// Patterns are regular expressions over the names of topics, in the syntax of RE2, which Kafka and Go share. They are
// resolved apart from the heartbeat that brings them, all of a group's together: what they have is a record. As in Kafka
// (4.1) they have those topics that the member whose heartbeat led to it may describe, until they are looked up anew.

// patternRest is the least time between two looks at all patterns of a group (Kafka's constant).
const patternRest = 10 * time.Second

// changePattern follows a member from one pattern to another. It tells whether the pattern changed, and whether what the
// member now reads is known, so that a new epoch is due: of a pattern that nobody had before it is not.
func (m *Machine) changePattern(g *consumer, old, now string) (changed, known bool) {
	if old == now {
		return false, false
	}
	if old != "" {
		m.dropPattern(g, old)
	}
	if now == "" {
		return true, true
	}
	if _, there := g.patterns.Get(now); there {
		return true, true
	}
	m.resolveSoon(g)
	return true, false
}

// dropPattern takes away what a pattern came to when nobody has it any more.
func (m *Machine) dropPattern(g *consumer, pattern string) {
	if _, there := g.patterns.Get(pattern); there && g.users(pattern) == 0 {
		m.discard(record.KindExpression, g.id, pattern)
	}
}

// refreshPatterns has patterns resolved anew that are old, or older than topics that came since.
func (m *Machine) refreshPatterns(g *consumer) {
	if g.unresolved {
		m.resolveSoon(g)
	}
	if g.pending || g.patterns.Len() == 0 {
		return
	}
	oldest := m.now
	stale := false
	for _, name := range g.patternNames() {
		r, _ := g.patterns.Get(name)
		if at := time.UnixMilli(r.atMs); at.Before(oldest) {
			oldest = at
		}
		stale = stale || r.version < int64(m.topics.grown)
	}
	if age := m.now.Sub(oldest); age > m.options.Consumer.PatternRefresh || stale && age > patternRest {
		m.resolveSoon(g)
	}
}

func (m *Machine) resolveSoon(g *consumer) {
	g.pending, g.unresolved, g.asker = true, false, m.asker
	m.timers.Set(timer{kind: patternTimer, group: g.id}, m.now)
}

// resolvePatterns looks up the topics of all patterns of a group, and begins an epoch where they are others.
func (m *Machine) resolvePatterns(g *consumer) {
	g.pending = false
	changed := false
	for _, name := range g.patternsOfMembers() {
		expression, err := regexp.Compile("^(?:" + name + ")$")
		if err != nil {
			continue // of a record that other software wrote: nothing matches it
		}
		v := &record.ConsumerExpression{Version: int64(m.topics.image.Offset), TimestampMs: m.now.UnixMilli()}
		for t := range m.topics.image.Topics("") {
			if expression.MatchString(t.Name) && m.options.MayDescribe(g.asker, t.Name) {
				v.Topics = append(v.Topics, t.Name)
			}
		}
		var before []string
		if was, there := g.patterns.Get(name); there {
			before = was.topics
		}
		changed = changed || !slices.Equal(before, v.Topics)
		m.store(g.id, name, v)
	}
	m.advance(g, changed)
}

func (g *consumer) patternNames() []string { return timeline.SortedKeys(g.patterns) }

// patternsOfMembers are those that somebody has, each once, sorted.
func (g *consumer) patternsOfMembers() []string {
	var all []string
	for _, id := range g.memberIDs() {
		if p, _ := g.members.Get(id); p.pattern != "" {
			all = append(all, p.pattern)
		}
	}
	return sorted(all)
}
