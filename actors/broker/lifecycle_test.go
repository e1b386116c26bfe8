package broker

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/controller"
	"troupe/actors/kit"
	"troupe/actors/metadata"
	"troupe/actors/replica"
	"troupe/codec/kerr"
	"troupe/configs"
	"troupe/internal/clock"
	"troupe/internal/model"
)

// registering is broker 1 before a controller that the test plays. Its heartbeats are 400 ms apart, and it gives up after a minute.
type registering struct {
	t     *testing.T
	clock *clock.Manual
	order *kit.Deterministic
	actor kit.Ref
	asked []*controller.Request // and not answered
	told  []string              // what the rest of the broker hears
	state *lifecycleState
	// judged counts how often leaders judge whether they are cut off.
	judged int
}

type playedController struct{ *registering }

func (c playedController) Receive(_ *kit.Context, m kit.Message) {
	c.asked = append(c.asked, m.(*controller.Request))
}

func newRegistering(t *testing.T) *registering {
	t.Helper()
	r := &registering{t: t, clock: clock.NewManual(time.Unix(1000, 0)), order: kit.NewDeterministic(1)}
	system := kit.NewSystem(kit.Options{Clock: r.clock, Dispatcher: r.order})
	request := kmsg.NewPtrBrokerRegistrationRequest()
	request.Version, request.BrokerID = request.MaxVersion(), 1
	r.state = &lifecycleState{id: 1}
	tell := func(format string, args ...any) { r.told = append(r.told, fmt.Sprintf(format, args...)) }
	r.actor = system.Spawn("lifecycle", kit.Props{Kind: "lifecycle", New: func() kit.Behavior {
		return &lifecycle{
			state: r.state, request: request, source: metadata.NewSource("cluster", configs.Layers{Static: map[string]string{}}, &configs.Broker{NodeID: 1}),
			placement: &placement{replicas: replica.NewDirectory()}, every: 400 * time.Millisecond, session: 2 * time.Second, within: time.Minute,
			log: slog.New(slog.DiscardHandler), quorum: controller.NewBoard(),
			fatal:   func(err error) { tell("ends: %v", err) },
			note:    func(epoch model.BrokerEpoch) { tell("epoch %d", epoch) },
			serving: func() { tell("serves") },
			judge:   func() { r.judged++ },
		}
	}})
	r.actor.Send(&controllerSpawned{system.Spawn("controller", kit.Props{Kind: "test", New: func() kit.Behavior { return playedController{r} }})})
	r.pass(0)
	return r
}

func (r *registering) pass(d time.Duration) {
	for r.order.Run(1 << 20); d > 0; d -= time.Millisecond {
		r.clock.Advance(time.Millisecond)
		r.order.Run(1 << 20)
	}
}

// asks fails unless this is asked after a pause, and not a millisecond before: "register", or the epoch of a heartbeat and what it
// wants.
func (r *registering) asks(after time.Duration, want string) {
	r.t.Helper()
	if after > 0 {
		r.pass(after - time.Millisecond)
		if len(r.asked) > 0 {
			r.t.Fatalf("%T is asked before %s are over", r.asked[0].Body, after)
		}
		r.pass(time.Millisecond)
	}
	if len(r.asked) != 1 {
		r.t.Fatalf("%d requests are under way, want %q", len(r.asked), want)
	}
	got := "register"
	if beat, ok := r.asked[0].Body.(*kmsg.BrokerHeartbeatRequest); ok {
		got = fmt.Sprint("heartbeat ", beat.BrokerEpoch)
		if beat.WantShutdown {
			got += " to stop"
		}
		if beat.WantFence {
			got += " to be fenced"
		}
		if beat.CordonedLogDirs != nil {
			r.t.Error("it tells which directories are cordoned before it knows")
		}
	}
	if got != want {
		r.t.Fatalf("asked for %q, want %q", got, want)
	}
}

// answers gives a code, and of a success the epoch of a registration.
func (r *registering) answers(code kerr.Code, epoch int64) {
	resp := r.asked[0].Body.ResponseKind().(*kmsg.BrokerRegistrationResponse)
	resp.ErrorCode, resp.BrokerEpoch = int16(code), epoch
	r.done(resp)
}

func (r *registering) grants(code kerr.Code, fenced, stop bool) {
	resp := r.asked[0].Body.ResponseKind().(*kmsg.BrokerHeartbeatResponse)
	resp.ErrorCode, resp.IsFenced, resp.ShouldShutdown = int16(code), fenced, stop
	r.done(resp)
}

func (r *registering) done(resp kmsg.Response) {
	asked := r.asked[0]
	r.asked = nil
	asked.Done(resp)
	r.pass(0)
}

func (r *registering) hears(want ...string) {
	r.t.Helper()
	if !slices.Equal(r.told, want) {
		r.t.Fatalf("the broker hears %q, want %q", r.told, want)
	}
}

func TestABrokerRegistersUntilItIsTakenAndServesWhenItIsUnfenced(t *testing.T) {
	r := newRegistering(t)
	r.asks(0, "register")
	for _, code := range []kerr.Code{kerr.NotController, kerr.DuplicateBrokerRegistration, kerr.InvalidRegistration, kerr.UnknownServerError} {
		r.answers(code, -1)
		r.asks(retryAfter, "register")
	}
	r.answers(kerr.None, 6)
	r.asks(0, "heartbeat 6")
	r.grants(kerr.None, true, false)
	r.asks(retryAfter, "heartbeat 6")
	r.hears("epoch 6")
	r.grants(kerr.None, false, false)
	r.hears("epoch 6", "serves")
	r.asks(400*time.Millisecond, "heartbeat 6")
	r.grants(kerr.None, false, false)
	r.asks(400*time.Millisecond, "heartbeat 6")
	r.hears("epoch 6", "serves")
}

func TestABrokerAsksAgainSoonWhenAHeartbeatIsNotGranted(t *testing.T) {
	for code, next := range map[kerr.Code]string{
		kerr.NotController: "heartbeat 6", kerr.UnknownServerError: "heartbeat 6", kerr.RequestTimedOut: "heartbeat 6",
		kerr.StaleBrokerEpoch: "register", kerr.BrokerIDNotRegistered: "register",
	} {
		t.Run(code.Name(), func(t *testing.T) {
			r := newRegistering(t)
			r.answers(kerr.None, 6)
			r.grants(kerr.None, false, false)
			r.asks(400*time.Millisecond, "heartbeat 6")
			r.grants(code, true, false)
			r.asks(retryAfter, next)
			if next == "register" {
				r.answers(kerr.None, 9)
				r.asks(0, "heartbeat 9")
				r.hears("epoch 6", "serves", "epoch 9")
			}
		})
	}
}

// initial.broker.registration.timeout.ms
func TestABrokerThatNoControllerAcceptsInTimeEnds(t *testing.T) {
	for title, c := range map[string]struct {
		answer func(*registering)
		ends   bool
	}{
		"nobody answers":  {func(*registering) {}, true},
		"it is refused":   {func(r *registering) { r.answers(kerr.InvalidRegistration, -1) }, true},
		"it stays fenced": {func(r *registering) { r.answers(kerr.None, 6); r.grants(kerr.None, true, false) }, true},
		"it has served":   {func(r *registering) { r.answers(kerr.None, 6); r.grants(kerr.None, false, false) }, false},
	} {
		t.Run(title, func(t *testing.T) {
			r := newRegistering(t)
			c.answer(r)
			said := func() bool {
				return len(r.told) > 0 && strings.HasPrefix(r.told[len(r.told)-1], "ends: no controller accepted this broker within 1m0s (initial.broker.registration.timeout.ms)")
			}
			if r.pass(time.Minute - time.Millisecond); said() {
				t.Errorf("ended before its time: %q", r.told)
			}
			if r.pass(time.Millisecond); said() != c.ends {
				t.Errorf("after its time the broker hears %q", r.told)
			}
		})
	}
}

func TestABrokerStopsWhenItsLeadershipsAreGoneOrNobodyCanTakeThem(t *testing.T) {
	begin := func(t *testing.T) *registering {
		r := newRegistering(t)
		r.answers(kerr.None, 6)
		r.grants(kerr.None, false, false)
		r.pass(100 * time.Millisecond)
		r.told = nil
		r.actor.Send(&leave{func() { r.told = append(r.told, "may stop") }})
		r.pass(0)
		r.asks(0, "heartbeat 6 to stop") // at once
		return r
	}
	t.Run("told so", func(t *testing.T) {
		r := begin(t)
		r.grants(kerr.None, false, false)
		r.asks(retryAfter, "heartbeat 6 to stop")
		r.hears()
		r.grants(kerr.None, true, true)
		r.hears("may stop")
		r.pass(time.Second)
		if r.hears("may stop"); len(r.asked) > 0 {
			t.Errorf("%T is asked after that", r.asked[0].Body)
		}
	})
	t.Run("without a controller", func(t *testing.T) {
		r := begin(t)
		for waited := time.Duration(0); waited < leaveAlone; waited += retryAfter {
			r.grants(kerr.NotController, true, false)
			r.hears()
			r.asks(retryAfter, "heartbeat 6 to stop")
		}
		r.grants(kerr.NotController, true, false)
		r.hears("may stop")
	})
}

func TestLeadersJudgeWhetherTheyAreCutOffFromTheEndOfASessionUntilItGoesOn(t *testing.T) {
	r := newRegistering(t)
	judged := func(want int) {
		t.Helper()
		if r.judged != want {
			t.Fatalf("judged %d times, want %d", r.judged, want)
		}
	}
	r.pass(time.Minute - time.Second)
	judged(0) // there has been no session
	r.answers(kerr.None, 6)
	r.grants(kerr.None, false, false)
	r.asks(400*time.Millisecond, "heartbeat 6")
	r.grants(kerr.None, false, false) // it was sent at once
	r.pass(2*time.Second - time.Millisecond)
	judged(0)
	r.pass(time.Millisecond)
	judged(1)
	r.pass(400 * time.Millisecond)
	judged(2)
	r.grants(kerr.None, false, false) // the one of 2 s ago, whose session is over
	r.asks(400*time.Millisecond, "heartbeat 6")
	judged(3)
	r.grants(kerr.None, false, false)
	judged(4)
	r.pass(2*time.Second - time.Millisecond)
	judged(4)
}

func TestASessionEndsByATimerAndBeginsWithNoHeartbeatOfWhichNobodyKnowsHowOldItIs(t *testing.T) {
	r := newRegistering(t)
	held := func(want bool) {
		t.Helper()
		if got := r.state.held(r.clock.Now(), 2*time.Second); got != want {
			t.Fatalf("held is %v, want %v", got, want)
		}
	}
	r.answers(kerr.None, 6)
	r.clock.Advance(-time.Millisecond) // the clock is set back
	r.grants(kerr.None, false, false)
	held(false)
	r.asks(400*time.Millisecond, "heartbeat 6")
	r.grants(kerr.None, false, false)
	held(true)
	r.pass(2 * time.Second)
	if at := r.state.granted.Load(); at != nil {
		t.Errorf("the session of %s ends by the clock alone, which may be set back", at)
	}
}
