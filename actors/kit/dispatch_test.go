package kit_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"troupe/actors/kit"
)

// chatter lets four actors talk at random-looking lengths, with timers and a panic, and returns all that happened.
func chatter(t *testing.T, seed uint64) string {
	s := newStage(t, seed)
	var story strings.Builder
	refs := make([]kit.Ref, 4)
	for i := range refs {
		refs[i] = s.Spawn(fmt.Sprint(i), cast(func() *role {
			return &role{
				receive: func(ctx *kit.Context, m kit.Message) {
					n := m.(note)
					fmt.Fprintf(&story, "%d got %s at %v\n", i, n, ctx.Now().UnixMilli())
					if len(n) > 6 {
						return
					}
					if len(n) == 5 && ctx.Incarnation() == 1 {
						panic("boom")
					}
					ctx.Send(refs[(i+1)%4], n+"x")
					ctx.After(time.Duration(i)*time.Millisecond, n+"yy")
				},
				endBatch: func(*kit.Context) { fmt.Fprintf(&story, "%d ends\n", i) },
			}
		}))
	}
	for _, r := range refs {
		r.Send(note("z"))
	}
	for range 50 {
		s.settle()
		s.clock.Advance(time.Millisecond)
	}
	return story.String()
}

func TestOneSeedGivesOneOrder(t *testing.T) {
	stories := map[string]bool{}
	for seed := range uint64(10) {
		first := chatter(t, seed)
		if again := chatter(t, seed); again != first {
			t.Fatalf("seed %d gave two orders:\n%s\nand\n%s", seed, first, again)
		}
		stories[first] = true
	}
	if len(stories) < 2 {
		t.Fatal("ten seeds gave one order")
	}
}

func TestALaneThatBlocksHoldsNobodyUp(t *testing.T) {
	sys := live(t)
	const lanes = 8 // more than the machine has cores
	release := make(chan struct{})
	entered := make(chan struct{}, lanes)
	for i := range lanes {
		lane := once(role{receive: func(*kit.Context, kit.Message) {
			entered <- struct{}{}
			<-release
		}})
		lane.Dedicated = true
		sys.Spawn(fmt.Sprint("lane-", i), lane).Send(note("write"))
	}
	for range lanes {
		<-entered
	}
	answered := make(chan string)
	other := sys.Spawn("other", once(role{receive: func(_ *kit.Context, m kit.Message) { m.(*request).Give("ok") }}))
	other.Send(&request{Reply: kit.NewReply(func(v string, _ error) { answered <- v })})
	select {
	case <-answered:
	case <-time.After(patience):
		t.Error("no answer while the lanes block")
	}
	close(release)
}
