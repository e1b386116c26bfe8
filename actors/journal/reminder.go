package journal

import "time"

// How long nothing is said of what is not as it should be, which may be over in a moment; the least time between two lines of
// it; and when the same is said once more.
const (
	tellAfter = 3 * time.Second
	tellLeast = 5 * time.Second
	tellAgain = 30 * time.Second
)

// Reminder paces the lines on something that somebody waits for. The zero value waits for nothing.
type Reminder struct {
	began, last time.Time
	told        string
}

// Due says that it goes on, and how that is told at present; due tells whether it is to be, and lasted for how long it goes on.
func (r *Reminder) Due(now time.Time, text string) (lasted time.Duration, due bool) {
	if r.began.IsZero() {
		r.began = now
	}
	lasted = now.Sub(r.began)
	since := now.Sub(r.last)
	if lasted < tellAfter || since < tellLeast || text == r.told && since < tellAgain {
		return lasted, false
	}
	r.last, r.told = now, text
	return lasted, true
}

// Over says that it has come to an end; told says whether anything was told of it.
func (r *Reminder) Over(now time.Time) (lasted time.Duration, told bool) {
	if r.began.IsZero() {
		return 0, false
	}
	lasted, told = now.Sub(r.began), r.told != ""
	*r = Reminder{}
	return lasted, told
}
