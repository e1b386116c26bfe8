package peer

import "testing"

func TestMemoryOfFramesFitsThemAndIsUsedAgain(t *testing.T) {
	for n, want := range map[int]int{ // the steps are 64 KiB, then each power of two with the one and a half before it
		1: 1, 64<<10 - 1: 64<<10 - 1, 64 << 10: 64 << 10, 64<<10 + 1: 96 << 10, 96 << 10: 96 << 10, 96<<10 + 1: 128 << 10,
		1<<20 + 1: 3 << 19, 10 << 20: 12 << 20, 12<<20 + 1: 16 << 20, 16 << 20: 16 << 20, 16<<20 + 1: 16<<20 + 1,
	} {
		var f frames
		b := f.take(n)
		if len(b) != n || cap(b) < want || cap(b) > want+want/8+16 {
			t.Errorf("%d bytes: length %d, capacity %d, want %d", n, len(b), cap(b), want)
		}
		f.give(b)
		if again := f.take(n); len(again) != n {
			t.Errorf("%d bytes: length %d the second time", n, len(again))
		}
	}
}

func TestEachClassHoldsWhatItIsTakenFor(t *testing.T) {
	last := -1
	for size := leastPooled; size <= mostPooled; size *= 2 {
		for _, n := range []int{size, size / 2 * 3} {
			if n > mostPooled {
				break
			}
			class, got := classOf(n)
			if got != n || class != last+1 || class >= classes {
				t.Errorf("%d bytes: class %d of %d bytes, want class %d", n, class, got, last+1)
			}
			last = class
			if above, _ := classOf(n + 1); n < mostPooled && above != class+1 {
				t.Errorf("%d bytes: class %d, want %d", n+1, above, class+1)
			}
		}
	}
}
