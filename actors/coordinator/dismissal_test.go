package coordinator

import (
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/kit"
	"troupe/codec/kerr"
	"troupe/internal/clock"
)

func TestWhoIsSentAwayIsAnsweredInTheOrderOfTheRequests(t *testing.T) {
	refuse := func(kmsg.Request, kerr.Code) kmsg.Response { return nil }
	p := newPartition(&Deps{Refuse: refuse}, &kept{}).(*partition)
	const all = 20
	var got []Token
	for i := Token(1); i <= all; i++ {
		p.requests[i] = NewRequest(Call{}, refuse, func(kmsg.Response) { got = append(got, i) })
	}
	p.dismiss()
	if len(got) != all || !slices.IsSorted(got) {
		t.Errorf("answered in the order %v", got)
	}
}

// A process that stood still, or was cut off, does not know what others have committed meanwhile.
func TestWhoMayHaveLostTheLeadershipAnswersNobody(t *testing.T) {
	for title, c := range map[string]struct {
		held bool
		want kerr.Code
	}{
		"its session lasts: it answers for itself":         {true, kerr.CoordinatorLoadInProgress},
		"its session is over: another one may lead by now": {false, kerr.NotCoordinator},
	} {
		t.Run(title, func(t *testing.T) {
			var got kerr.Code
			refuse := func(_ kmsg.Request, code kerr.Code) kmsg.Response { got = code; return nil }
			w := kit.NewDeterministic(1)
			system := kit.NewSystem(kit.Options{Clock: clock.NewManual(time.Unix(1000, 0)), Dispatcher: w})
			deps := &Deps{Refuse: refuse, Held: func(time.Time) bool { return c.held }}
			ref := system.Spawn("partition", kit.Props{Kind: "partition", New: func() kit.Behavior { return loadingForEver{&partition{deps: deps, loading: &loading{}}} }})
			answered := 0
			ref.Send(NewRequest(Call{}, refuse, func(kmsg.Response) { answered++ }))
			w.Run(100)
			if answered != 1 || got != c.want {
				t.Errorf("%d answers, the last is %s, want one, %s", answered, got.Name(), c.want.Name())
			}
		})
	}
}

// loadingForEver is a partition whose log is never read.
type loadingForEver struct{ *partition }

// Start begins nothing.
func (loadingForEver) Start(*kit.Context) {}

// EndBatch has nothing to append.
func (loadingForEver) EndBatch(*kit.Context) {}
