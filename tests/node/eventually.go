package node

import (
	"testing"
	"time"
)

// BootstrapVar names the environment variable with the address of a broker to test instead of starting one, such as
// Apache Kafka's: the tests hold for both.
const BootstrapVar = "INTEROP_BOOTSTRAP"

// Eventually asks until a condition holds that nothing announces, and fails the test when it does not in time.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(Patience)
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("after %v it does not hold that %s", Patience, what)
		}
		<-again.C
	}
}
