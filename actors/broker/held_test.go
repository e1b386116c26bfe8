package broker

import (
	"testing"
	"time"
)

func TestWhatABrokerLeadsIsHeldForASessionAfterItsLastHeartbeatThatWasGranted(t *testing.T) {
	const session = 2 * time.Second
	sent := time.Unix(1000, 0)
	s := &lifecycleState{}
	if s.held(sent, session) {
		t.Error("held before the controller has granted anything")
	}
	s.granted.Store(&sent)
	for after, want := range map[time.Duration]bool{0: true, session - 1: true, session: false, time.Minute: false} {
		if got := s.held(sent.Add(after), session); got != want {
			t.Errorf("%s after it was sent: held is %v, want %v", after, got, want)
		}
	}
}
