package simulation

import (
	"maps"
	"slices"
)

// coverage counts what a seed met, of that which all seeds together have to meet.
type coverage struct {
	met map[string]int
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

func (c *coverage) list() []string { return slices.Sorted(maps.Keys(c.met)) }

// missing names what a hundred seeds of three nodes should have met and have not.
func missing(met map[string]int) (all []string) {
	for _, what := range []string{tornTail} {
		if met[what] == 0 {
			all = append(all, what)
		}
	}
	return all
}
