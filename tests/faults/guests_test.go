//go:build interop && unix

package faults

import "testing"

// What happens here is what no producer may notice whose delivery timeout is longer.
var ofGuests = []Fault{
	{Title: "producers of Java and kcat and franz-go with default settings", Linked: true, Steps: []Step{
		invite,
		times(size{5, 1}, choose(plainLeader), anyMoment, kill, goesOn, start, whole),
		times(size{5, 1}, choose(controller), anyMoment, kill, goesOn, start, whole),
		once(choose(plainLeader), anyMoment, pause, goesOn, seconds(30, 4), resume, whole),
		once(choose(everyone), oneByOne(anyMoment, stop, start, whole)),
		once(choose(plainLeader), anyMoment, cut(bothWays), goesOn, seconds(10, 2), heal, whole),
		dismiss,
	}},
}

func TestGuests(t *testing.T) { runAll(t, ofGuests) }
