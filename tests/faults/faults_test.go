//go:build unix

package faults

import "testing"

func TestFaults(t *testing.T) {
	for _, f := range []Fault{
		{Title: "all three are killed at once in mid-load", Steps: []Step{
			times(size{50, 3}, choose(everyone), anyMoment, kill, start, goesOn), whole,
		}},
		{Title: "a leader is hung for 30 s and goes on: the zombie acknowledges nothing", Steps: []Step{
			once(choose(plainLeader), remember, anyMoment, pause, askTheZombie, deposed, goesOn, seconds(30, 4), resume, zombieRefuses, whole),
			once(choose(leaderAndController), remember, anyMoment, pause, askTheZombie, deposed, goesOn, seconds(30, 4), resume, zombieRefuses, whole),
		}},
		{Title: "followers are killed first and the leader last", Steps: []Step{
			times(size{10, 2}, choose(followersThenLeader), anyMoment, oneByOne(kill, moment), shuffled, oneByOne(launch, moment), goesOn, whole),
		}},
	} {
		t.Run(f.Title, func(t *testing.T) { Run(t, f) })
	}
}
