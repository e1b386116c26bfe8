package listener

import (
	"testing"
	"time"
)

func TestPausesOfOneLengthEndTogetherAndAtMostASixteenthLate(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct{ age, pause, late time.Duration }{
		{0, 31 * ms, 0}, // too short to be worth it
		{1 * ms, 32 * ms, 1 * ms},
		{0, 500 * ms, 12 * ms}, // 512 is the next multiple of 16
		{1 * ms, 500 * ms, 11 * ms},
		{12 * ms, 500 * ms, 0},
		{13 * ms, 500 * ms, 15 * ms},
		{13*ms + 1, 500*ms - 1, 15 * ms},
		{1 * ms, 30 * time.Second, 15 * ms},
	} {
		if got := lateness(c.age, c.pause); got != c.late {
			t.Errorf("at %v a pause of %v is %v late, expected %v", c.age, c.pause, got, c.late)
		}
		if late := lateness(c.age, c.pause); late > c.pause/16 {
			t.Errorf("a pause of %v is %v late", c.pause, late)
		}
	}
}
