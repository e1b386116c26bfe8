package coordinator

import (
	"slices"
	"testing"
	"time"
)

func TestADeadlineThatIsKeptMovesOnlyWhileItLasts(t *testing.T) {
	begin := time.Unix(1000, 0)
	at := func(seconds int) time.Time { return begin.Add(time.Duration(seconds) * time.Second) }
	d := NewDeadlines[string]()
	due := func(seconds int) (keys []string) {
		for {
			k, ok := d.Take(at(seconds))
			if !ok {
				return keys
			}
			keys = append(keys, k)
		}
	}
	a, b := d.Set("a", at(10)), d.Set("b", at(10))
	if !a.Postpone(at(30)) || a.Postpone(at(5)) {
		t.Error("a moves later, and not before the time that it was set for")
	}
	d.Cancel("b")
	if b.Postpone(at(40)) {
		t.Error("a deadline that was cancelled moves")
	}
	again := d.Set("b", at(20))
	if got := due(20); !slices.Equal(got, []string{"b"}) {
		t.Errorf("after 20 s %v are due, want b alone", got)
	}
	if again.Postpone(at(50)) {
		t.Error("a deadline that was taken moves")
	}
	if got := due(29); got != nil {
		t.Errorf("after 29 s %v are due", got)
	}
	if got := due(30); !slices.Equal(got, []string{"a"}) {
		t.Errorf("after 30 s %v are due, want a", got)
	}
	if next := d.Next(); !next.IsZero() {
		t.Errorf("%v is left", next)
	}
}
