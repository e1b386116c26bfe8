package controller

import (
	"strings"
	"testing"
	"time"

	"troupe/cluster/controller"
	"troupe/cluster/image"
	"troupe/configs"
)

// The machine is called when its next round is due.
func TestTheKeysSayHowOftenTheControllerLooksForLeaders(t *testing.T) {
	for set, want := range map[string]time.Duration{
		"": 5 * time.Minute,
		"leader.imbalance.check.interval.seconds=7":                                            7 * time.Second,
		"unclean.leader.election.interval.ms=6500":                                             6500 * time.Millisecond,
		"auto.leader.rebalance.enable=false unclean.leader.election.interval.ms=400000":        400 * time.Second,
		"leader.imbalance.check.interval.seconds=700 unclean.leader.election.interval.ms=8000": 8 * time.Second,
	} {
		loaded, err := configs.Load(configs.Options{Hostname: "localhost", Set: append(strings.Fields(set), "node.id=1", "log.dirs=/data")})
		if err != nil {
			t.Fatal(err)
		}
		m, now := newMachine(Deps{Config: &loaded.Broker}, 1, nil), time.Unix(1000, 0)
		m.Lead(controller.At{Time: now}, 1, image.Empty("cluster"), false)
		m.Appended(0)
		if _, next := m.Tick(controller.At{Time: now, Next: 10}); next.Sub(now) != want {
			t.Errorf("%q: the controller looks after %s, want %s", set, next.Sub(now), want)
		}
	}
}
