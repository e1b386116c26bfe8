package checkpoint

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"troupe/internal/model"
)

func epochsOf(entries ...Epoch) Epochs {
	var e Epochs
	for _, x := range entries {
		e, _ = e.Assign(x.Epoch, x.Start)
	}
	return e
}

func TestTheEndOfAnEpochIsTheStartOfTheNext(t *testing.T) {
	history := epochsOf(Epoch{2, 10}, Epoch{4, 25}, Epoch{7, 40})
	for _, c := range []struct {
		title string
		of    Epochs
		asked model.LeaderEpoch
		epoch model.LeaderEpoch
		end   model.Offset
	}{
		{"the current epoch ends at the log end", history, 7, 7, 55},
		{"an old one at the start of the next", history, 4, 4, 40},
		{"the first one too", history, 2, 2, 25},
		{"one that wrote nothing here: the largest below it", history, 5, 4, 40},
		{"one between the first two", history, 3, 2, 25},
		{"one older than all that is known: itself, and where the first begins", history, 1, 1, 10},
		{"epoch 0 likewise", history, 0, 0, 10},
		{"a future one is not known", history, 8, -1, -1},
		{"no epoch", history, model.NoLeaderEpoch, -1, -1},
		{"any epoch of an empty log", Epochs{}, 0, -1, -1},
	} {
		t.Run(c.title, func(t *testing.T) {
			if epoch, end := c.of.End(c.asked, 55); epoch != c.epoch || end != c.end {
				t.Errorf("epoch %d ends at (%d, %d), want (%d, %d)", c.asked, epoch, end, c.epoch, c.end)
			}
		})
	}
}

func TestEachOffsetHasTheEpochThatWroteIt(t *testing.T) {
	history := epochsOf(Epoch{2, 10}, Epoch{4, 25})
	for offset, want := range map[model.Offset]model.LeaderEpoch{10: 2, 24: 2, 25: 4, 1000: 4} {
		if got, ok := history.At(offset); !ok || got != want {
			t.Errorf("offset %d: epoch %d, %v, want %d", offset, got, ok, want)
		}
	}
	if got, ok := history.At(9); ok || got != model.NoLeaderEpoch {
		t.Errorf("offset 9, before all that is known: epoch %d, %v", got, ok)
	}
}

func TestEveryChangeKeepsTheHistoryRising(t *testing.T) {
	history := []Epoch{{2, 10}, {4, 25}, {7, 40}}
	assign := func(epoch model.LeaderEpoch, start model.Offset) func(Epochs) (Epochs, bool) {
		return func(e Epochs) (Epochs, bool) { return e.Assign(epoch, start) }
	}
	end := func(o model.Offset) func(Epochs) (Epochs, bool) {
		return func(e Epochs) (Epochs, bool) { return e.TruncateEnd(o) }
	}
	start := func(o model.Offset) func(Epochs) (Epochs, bool) {
		return func(e Epochs) (Epochs, bool) { return e.TruncateStart(o) }
	}
	for _, c := range []struct {
		title  string
		change func(Epochs) (Epochs, bool)
		want   []Epoch
	}{
		{"a new leader's epoch is added", assign(8, 41), append(slices.Clone(history), Epoch{8, 41})},
		{"the same epoch further on changes nothing", assign(7, 50), history},
		{"the same epoch at the same place changes nothing", assign(7, 40), history},
		{"the same epoch earlier moves it", assign(7, 30), []Epoch{{2, 10}, {4, 25}, {7, 30}}},
		{"an epoch that wrote nothing gives way to the next at its place", assign(9, 40), []Epoch{{2, 10}, {4, 25}, {9, 40}}},
		{"an earlier start takes the entries it contradicts away", assign(9, 20), []Epoch{{2, 10}, {9, 20}}},
		{"an older epoch takes newer ones away", assign(3, 45), []Epoch{{2, 10}, {3, 45}}},
		{"truncation takes the epochs that begin at or after the end", end(40), history[:2]},
		{"and keeps the one that contains it", end(41), history},
		{"truncation of everything", end(0), nil},
		{"truncation past the end changes nothing", end(1000), history},
		{"the log start moves within the first epoch", start(12), []Epoch{{2, 12}, {4, 25}, {7, 40}}},
		{"to the start of the second", start(25), history[1:]},
		{"into the second", start(26), []Epoch{{4, 26}, {7, 40}}},
		{"past the last, which stays for the appends to come", start(90), []Epoch{{7, 90}}},
		{"to where it is changes nothing", start(10), history},
		{"to before the first changes nothing", start(5), history},
	} {
		t.Run(c.title, func(t *testing.T) {
			before := epochsOf(history...)
			after, changed := c.change(before)
			if !slices.Equal(after.All(), c.want) {
				t.Errorf("%v, want %v", after.All(), c.want)
			}
			if want := !slices.Equal(c.want, history); changed != want {
				t.Errorf("changed is %v, want %v", changed, want)
			}
			if !slices.Equal(before.All(), history) {
				t.Errorf("the old value became %v", before.All())
			}
		})
	}
	if empty, changed := (Epochs{}).TruncateStart(5); changed || len(empty.All()) != 0 {
		t.Errorf("an empty history became %v", empty.All())
	}
}

// Two histories grown from one value must not write into each other's entries.
func TestHistoriesThatPartDoNotShareWhatFollows(t *testing.T) {
	base := epochsOf(Epoch{1, 0}, Epoch{2, 5})
	a, _ := base.Assign(3, 9)
	b, _ := base.Assign(4, 9)
	c, _ := a.TruncateEnd(9)
	d, _ := c.Assign(5, 9)
	for _, h := range []struct {
		e    Epochs
		last Epoch
	}{{base, Epoch{2, 5}}, {a, Epoch{3, 9}}, {b, Epoch{4, 9}}, {d, Epoch{5, 9}}} {
		if got, ok := h.e.Latest(); !ok || got != h.last {
			t.Errorf("latest is %v, want %v", got, h.last)
		}
	}
}

func TestAnyChangesKeepBothColumnsRising(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var e Epochs
		for range rapid.IntRange(1, 40).Draw(t, "changes") {
			o := model.Offset(rapid.IntRange(0, 50).Draw(t, "offset"))
			switch rapid.IntRange(0, 3).Draw(t, "change") {
			case 0:
				e, _ = e.TruncateEnd(o)
				if latest, ok := e.Latest(); ok && latest.Start >= o {
					t.Fatalf("%v after truncation to %d", e.All(), o)
				}
			case 1:
				e, _ = e.TruncateStart(o)
			default:
				epoch := model.LeaderEpoch(rapid.IntRange(0, 10).Draw(t, "epoch"))
				e, _ = e.Assign(epoch, o)
				if latest, _ := e.Latest(); latest.Epoch != epoch || latest.Start > o {
					t.Fatalf("%v after assigning epoch %d at %d", e.All(), epoch, o)
				}
			}
			all := e.All()
			for i := 1; i < len(all); i++ {
				if all[i].Epoch <= all[i-1].Epoch || all[i].Start <= all[i-1].Start {
					t.Fatalf("not rising: %v", all)
				}
			}
		}
	})
}
