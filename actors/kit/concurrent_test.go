package kit_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"troupe/actors/kit"
)

// parcel is a message of which every one must be received or failed, once.
type parcel struct {
	sender, number int
	received       atomic.Int32
	failed         atomic.Int32
}

func (*parcel) MessageKind() string { return "parcel" }
func (*parcel) MessageBytes() int   { return 10 }

func (p *parcel) Fail(err error) {
	var panicked *kit.PanicError
	if !errors.Is(err, kit.ErrStopped) && !errors.As(err, &panicked) {
		panic(fmt.Sprintf("failed with %v", err))
	}
	p.failed.Add(1)
}

func TestEveryMessageIsReceivedOrFailedOnceThroughPanicsAndAStop(t *testing.T) {
	for _, dedicated := range []bool{false, true} {
		t.Run(fmt.Sprintf("dedicated=%v", dedicated), func(t *testing.T) {
			sys := live(t)
			const senders, each = 8, 5000
			last := make([]int, senders)
			var handled int
			a := sys.Spawn("a", kit.Props{
				Kind:      "a",
				Dedicated: dedicated,
				Restarts:  kit.Restarts{Max: 1 << 20, Within: time.Hour, MinBackoff: time.Microsecond, MaxBackoff: time.Microsecond},
				New: func() kit.Behavior {
					return &role{receive: func(_ *kit.Context, m kit.Message) {
						p := m.(*parcel)
						if p.number <= last[p.sender] {
							t.Errorf("sender %d: %d after %d", p.sender, p.number, last[p.sender])
						}
						last[p.sender] = p.number
						if handled++; handled%1000 == 0 {
							panic("boom")
						}
						p.received.Add(1)
					}}
				},
			})
			parcels := make([][]parcel, senders)
			var wg sync.WaitGroup
			for s := range senders {
				parcels[s] = make([]parcel, each)
				wg.Go(func() {
					for n := range parcels[s] {
						p := &parcels[s][n]
						p.sender, p.number = s, n+1
						a.Send(p)
						if s == 0 && n == each/2 {
							sys.Stop(a)
						}
					}
				})
			}
			wg.Wait()
			<-sys.Stop(a)
			for s := range parcels {
				for n := range parcels[s] {
					p := &parcels[s][n]
					if got := p.received.Load() + p.failed.Load(); got != 1 {
						t.Fatalf("parcel %d of sender %d: received %d, failed %d times",
							n, s, p.received.Load(), p.failed.Load())
					}
				}
			}
		})
	}
}

func TestManyActorsExchangeMessagesWithoutLosingOne(t *testing.T) {
	sys := live(t)
	const actors, rounds = 50, 200
	var wg sync.WaitGroup
	wg.Add(actors)
	refs := make([]kit.Ref, actors)
	begin := make(chan struct{})
	for i := range refs {
		refs[i] = sys.Spawn(fmt.Sprint(i), once(role{receive: func(ctx *kit.Context, m kit.Message) {
			<-begin // until refs is complete
			b := m.(*ball)
			if b.left--; b.left == 0 {
				wg.Done()
				return
			}
			ctx.Send(refs[(i+b.left)%actors], b)
		}}))
		refs[i].Send(&ball{left: rounds})
	}
	close(begin)
	wg.Wait()
	for _, r := range refs {
		<-sys.Stop(r)
	}
	stats := sys.Stats()[0]
	// Each stop is a message too.
	if want := uint64(actors*rounds + actors); stats.Handled != want || stats.Actors != 0 || stats.DeadLetters != 0 {
		t.Fatalf("handled %d (want %d), %d actors and %d dead letters left",
			stats.Handled, want, stats.Actors, stats.DeadLetters)
	}
}
