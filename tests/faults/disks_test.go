//go:build interop && linux

package faults

import "testing"

// Faults of a leader's disk, for which filesystems are mounted.
var ofDisks = []Fault{
	{Title: "the disk of a leader fills", Before: []Step{smallDisks(64)}, Steps: []Step{
		times(size{5, 1}, choose(leader), anyMoment, fill, goesOn, seconds(5, 1), relieve, startIfEnded, goesOn, whole),
	}},
	{Title: "the disk of a leader fails", Before: []Step{brittleDisks}, Steps: []Step{
		once(choose(leader), anyMoment, fill, goesOn, ended, replaceDisk, start, goesOn, whole, votersAre(3)),
	}},
}

func TestDisks(t *testing.T) { runAll(t, ofDisks) }
