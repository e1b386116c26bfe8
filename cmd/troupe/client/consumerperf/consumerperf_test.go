package consumerperf

import (
	"testing"
	"time"
)

// The lines are those that kafka-consumer-perf-test of 4.3.1 printed; the bytes are those of 30 short records.

func clock(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.ParseInLocation("2006-01-02 15:04:05.000", text, time.Local)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func defaultDate(t *testing.T) func(time.Time) string {
	t.Helper()
	format, err := dateFormat("yyyy-MM-dd HH:mm:ss:SSS")
	if err != nil {
		t.Fatal(err)
	}
	return format
}

func TestTheSummaryIsTheScriptsLine(t *testing.T) {
	s := newSummary(clock(t, "2026-11-29 19:27:26.431"), clock(t, "2026-11-29 19:27:27.050"), volume{30, 81}, 486)
	want := "2026-11-29 19:27:26:431, 2026-11-29 19:27:27:050, 0.0001, 0.0001, 30, 48.4653, 486, 133, 0.0006, 225.5639"
	if got := s.line(defaultDate(t)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestProgressHasTotalsAndTheRatesOfItsInterval(t *testing.T) {
	now := clock(t, "2026-11-29 19:27:38.529")
	got := detail(volume{1, 2}, volume{}, now.Add(-1248*time.Millisecond), now, 1111, defaultDate(t))
	want := "2026-11-29 19:27:38:529, 0, 0.0000, 0.0000, 1, 0.8013, 1111, 137, 0.0000, 7.2993"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestARebalanceThatFillsTheIntervalLeavesNoFetching(t *testing.T) {
	now := clock(t, "2026-11-29 19:27:38.529")
	got := detail(volume{1, 2}, volume{}, now.Add(-time.Second), now, 1000, defaultDate(t))
	want := "2026-11-29 19:27:38:529, 0, 0.0000, 0.0000, 1, 1.0000, 1000, 0, 0.0000, 0.0000"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestDatesFollowSimpleDateFormat(t *testing.T) {
	at := clock(t, "2026-03-05 00:07:09.004")
	for pattern, want := range map[string]string{
		"yy/M/d h.m.s,S": "26/3/5 12.7.9,4", "HH 'o''clock'": "00 o'clock", "D": "64", "yyyy-MM-dd'T'HH:mm:ss.SSS": "2026-03-05T00:07:09.004",
	} {
		format, err := dateFormat(pattern)
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		if got := format(at); got != want {
			t.Errorf("%s: got %s, want %s", pattern, got, want)
		}
	}
	for pattern, want := range map[string]string{"bogus": "Illegal pattern character 'b'", "'open": "Unterminated quote"} {
		if _, err := dateFormat(pattern); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", pattern, err, want)
		}
	}
}

func TestTimeWithoutPartitionsIsRebalancing(t *testing.T) {
	began := time.UnixMilli(0)
	at := func(ms int64) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	r := &rebalances{since: began}
	r.gained(map[string][]int32{"a": {0, 1}}, at(300))
	r.lost(map[string][]int32{"a": {1}}, at(400))
	r.gained(map[string][]int32{"b": {0}}, at(450)) // one partition was kept all along
	if total, round := r.take(); total != 300 || round != 300 {
		t.Errorf("%d ms, %d ms in the round; want 300 of each", total, round)
	}
	r.lost(map[string][]int32{"a": {0}, "b": {0}}, at(1000))
	r.gained(map[string][]int32{"a": {0}}, at(1250))
	if total, round := r.take(); total != 550 || round != 250 {
		t.Errorf("%d ms, %d ms in the round; want 550 and 250", total, round)
	}
}
