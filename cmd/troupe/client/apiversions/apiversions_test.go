package apiversions

import (
	"slices"
	"testing"
)

// The lines are those of kafka-broker-api-versions 4.3.1.
func TestVersionsAreComparedWithWhatClientsKnow(t *testing.T) {
	for _, c := range []struct {
		have ranged
		want string
	}{
		{ranged{0, "Produce", 0, 13}, "Produce(0): 0 to 13 [usable: 13]"},
		{ranged{1, "Fetch", 4, 99}, "Fetch(1): 4 to 99 [usable: 18]"},
		{ranged{92, "DeleteShareGroupOffsets", 0, 0}, "DeleteShareGroupOffsets(92): 0 [usable: 0]"},
		{ranged{1, "Fetch", 0, 3}, "Fetch(1): 0 to 3 [unusable: node too old]"},
		{ranged{1, "Fetch", 50, 60}, "Fetch(1): 50 to 60 [unusable: node too new]"},
		{ranged{2000, "UNKNOWN", 0, 1}, "UNKNOWN(2000): 0 to 1"},
	} {
		if got := c.have.line(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestWhatABrokerLacksIsUnsupportedUnlessOnlyBrokersSendIt(t *testing.T) {
	got := lines([]ranged{{0, "Produce", 0, 13}})
	if !slices.Contains(got, "Fetch(1): UNSUPPORTED") {
		t.Error("Fetch is not listed")
	}
	if slices.Contains(got, "BrokerHeartbeat(63): UNSUPPORTED") {
		t.Error("a request between brokers is listed")
	}
}

func TestABrokerIsNamedAsTheJavaClientNamesIt(t *testing.T) {
	n := node{ID: 1, Host: "127.0.0.1", Port: 16092}
	if got := n.String(); got != "127.0.0.1:16092 (id: 1 rack: null isFenced: false)" {
		t.Errorf("got %s", got)
	}
}
