package simulation

import (
	"fmt"
	"maps"
	"slices"
)

// coverage counts what a seed met, of that which all seeds together have to meet.
type coverage struct {
	faults int
	met    map[string]int
}

// The rare things that a hundred seeds must have met, or they prove nothing about them.
const (
	tornTail        = "torn tail"
	truncation      = "truncation by divergence"
	elrElection     = "ELR election"
	coordinatorMove = "coordinator move in a commit"
)

func (c *coverage) meet(what string) {
	if c.met == nil {
		c.met = map[string]int{}
	}
	c.met[what]++
}

func (c *coverage) list() (all []string) {
	for _, what := range slices.Sorted(maps.Keys(c.met)) {
		all = append(all, fmt.Sprintf("%s: %d", what, c.met[what]))
	}
	return all
}
