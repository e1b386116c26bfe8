//go:build unix

package chaos

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"troupe/tests/node"
)

// rounds is how often a broker is killed: CHAOS_ROUNDS, or few.
func rounds(t *testing.T) int {
	t.Helper()
	text := os.Getenv("CHAOS_ROUNDS")
	if text == "" {
		return 3
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("CHAOS_ROUNDS: %v", err)
	}
	return n
}

// dice gives a source of chance whose seed the test's log tells; CHAOS_SEED repeats a run's choices.
func dice(t *testing.T) *rand.Rand {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv("CHAOS_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("CHAOS_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func TestNothingAcknowledgedIsLostByKills(t *testing.T) {
	chance := dice(t)
	broker := node.Start(t, node.Options{})
	load := Start(t, broker.Bootstrap, 3, map[string]string{"segment.bytes": "1048576"})
	for range rounds(t) {
		load.Await(1 + chance.IntN(2000))
		after(time.Duration(chance.IntN(300)) * time.Millisecond)
		broker.Kill()
		broker.Restart()
	}
	load.Await(1000)
	load.Stop()
	load.Verify()
}

// A kill that hits the recovery of the kill before.
func TestNothingAcknowledgedIsLostByKillsDuringStart(t *testing.T) {
	chance := dice(t)
	broker := node.Start(t, node.Options{})
	load := Start(t, broker.Bootstrap, 2, map[string]string{"segment.bytes": "1048576"})
	load.Await(5000)
	for range rounds(t) {
		broker.Kill()
		broker.Launch()
		after(time.Duration(chance.IntN(60)) * time.Millisecond)
	}
	broker.Kill()
	broker.Restart()
	load.Await(1000)
	load.Stop()
	load.Verify()
}

func TestAStoppedBrokerThatGoesOnHasLostNothing(t *testing.T) {
	broker := node.Start(t, node.Options{})
	load := Start(t, broker.Bootstrap, 3, nil)
	for range 2 {
		load.Await(1000)
		broker.Pause()
		after(2 * time.Second)
		broker.Resume()
	}
	load.Await(1000)
	load.Stop()
	load.Verify()
}

func TestACleanStopUnderLoadLosesNothing(t *testing.T) {
	broker := node.Start(t, node.Options{})
	load := Start(t, broker.Bootstrap, 3, nil)
	for range 2 {
		load.Await(1000)
		broker.Terminate()
		broker.Restart()
	}
	load.Await(1000)
	load.Stop()
	load.Verify()
}
