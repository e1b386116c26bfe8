package journal

import (
	"testing"
	"time"
)

func TestWhatIsWaitedForIsToldSoonWhenItChangesAndNowAndThen(t *testing.T) {
	var r Reminder
	start := time.Unix(1_700_000_000, 0)
	for _, c := range []struct {
		at   int // seconds
		text string
		due  bool
	}{
		{0, "two are missing", false},
		{2, "two are missing", false},
		{3, "two are missing", true},
		{4, "one is missing", false}, // too soon after the last line
		{8, "one is missing", true},
		{9, "one is missing", false},
		{37, "one is missing", false},
		{38, "one is missing", true},
	} {
		lasted, due := r.Due(start.Add(time.Duration(c.at)*time.Second), c.text)
		if due != c.due || lasted != time.Duration(c.at)*time.Second {
			t.Errorf("after %d s, %q: told %v, as of %s", c.at, c.text, due, lasted)
		}
	}
	if lasted, told := r.Over(start.Add(time.Minute)); !told || lasted != time.Minute {
		t.Errorf("it is over after %s, told %v", lasted, told)
	}
}

func TestNothingIsSaidOfTheEndOfWhatWasNotTold(t *testing.T) {
	var r Reminder
	now := time.Unix(1_700_000_000, 0)
	if _, told := r.Over(now); told {
		t.Error("the end is told of what never began")
	}
	r.Due(now, "an election")
	if _, told := r.Over(now.Add(time.Second)); told {
		t.Error("the end is told of a moment")
	}
}
