package localcluster

import (
	"slices"
	"testing"
	"time"
)

func TestANodeThatEndsAgainAndAgainStaysAwayLongerEachTime(t *testing.T) {
	p := &process{}
	now := time.Unix(1_700_000_000, 0)
	var pauses []time.Duration
	ends := func(after time.Duration) {
		p.began, p.ready = now, true // it served, and ended all the same
		now = now.Add(after)
		pauses = append(pauses, p.pause(now)/time.Second)
	}
	for range 7 {
		ends(2 * time.Second)
	}
	ends(time.Minute)
	ends(29 * time.Second)
	if want := []time.Duration{1, 2, 4, 8, 16, 30, 30, 1, 2}; !slices.Equal(pauses, want) {
		t.Errorf("it stays away for %d seconds, want %d", pauses, want)
	}
}

func TestOrdinals(t *testing.T) {
	for n, want := range map[int]string{2: "2nd", 3: "3rd", 4: "4th", 11: "11th", 12: "12th", 13: "13th", 20: "20th", 21: "21st", 111: "111th", 122: "122nd"} {
		if got := ordinal(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
