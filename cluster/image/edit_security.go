package image

import (
	"fmt"
	"slices"
	"strings"

	"troupe/cluster/record"
)

// quota is an entity and the keys set for it.
type quota struct {
	entity []record.QuotaEntity
	values []quotaValue
}

// quotaValue is one quota. Those of an entity are kept in order of key, so that every node writes the same checkpoint.
type quotaValue struct {
	key   string
	value float64
}

// applySecurity replays what this broker keeps for checkpoints even where nothing reads it.
func (e *Editor) applySecurity(r record.Record) string {
	switch r := r.(type) {
	case *record.AccessControlEntry:
		e.next.acls = e.next.acls.with(r.ID, r)
	case *record.RemoveAccessControlEntry:
		if _, ok := e.next.acls.get(r.ID); !ok {
			return fmt.Sprintf("no access control entry has id %s", r.ID)
		}
		e.next.acls = e.next.acls.without(r.ID)
	case *record.UserScramCredential:
		// One mechanism of a user replaces itself and leaves the user's others.
		e.next.scram = e.next.scram.with(scramKey{r.Mechanism, r.Name}, r)
	case *record.RemoveUserScramCredential:
		e.next.scram = e.next.scram.without(scramKey{r.Mechanism, r.Name})
	case *record.DelegationToken:
		e.next.tokens = e.next.tokens.with(r.TokenID, r)
	case *record.RemoveDelegationToken:
		e.next.tokens = e.next.tokens.without(r.TokenID)
	case *record.ClientQuota:
		e.quota(r)
	default:
		return "the image has no place for it"
	}
	e.touched.security = true
	return ""
}

// quota keeps the keys of an entity together, and the entity only while it has any.
func (e *Editor) quota(r *record.ClientQuota) {
	key := quotaKey(r.Entity)
	next := quota{entity: r.Entity}
	if old, ok := e.next.quotas.get(key); ok {
		next.values = slices.Clone(old.values)
	}
	i, found := slices.BinarySearchFunc(next.values, r.QuotaKey, func(v quotaValue, k string) int { return strings.Compare(v.key, k) })
	switch {
	case r.Remove && found:
		next.values = slices.Delete(next.values, i, i+1)
	case r.Remove:
	case found:
		next.values[i].value = r.Value
	default:
		next.values = slices.Insert(next.values, i, quotaValue{r.QuotaKey, r.Value})
	}
	if len(next.values) == 0 {
		e.next.quotas = e.next.quotas.without(key)
		return
	}
	e.next.quotas = e.next.quotas.with(key, &next)
}

// quotaKey is one text for an entity whatever the order of its dimensions; a default ("no name") sorts before any name.
func quotaKey(entity []record.QuotaEntity) string {
	parts := make([]string, 0, len(entity))
	for _, d := range entity {
		if d.Name == nil {
			parts = append(parts, d.Type+"\x00")
		} else {
			parts = append(parts, d.Type+"\x01"+*d.Name)
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, "\x02")
}
