package console_test

import "testing"

func TestTheCleanerTellsThatItIsAlive(t *testing.T) {
	n := startNode(t, "log.cleaner.backoff.ms=5")
	n.create("table", 1)
	m := n.metrics()
	if got := m["kafka_log_logcleanermanager_time_since_last_run_ms"]; got > 60_000 {
		t.Errorf("it looked for work %v ms ago", got)
	}
	for _, series := range []string{"kafka_log_logcleaner_deadthreadcount", "kafka_log_logcleaner_max_clean_time_secs"} {
		if got, there := m[series]; !there || got != 0 {
			t.Errorf("%s is %v (%v), want 0", series, got, there)
		}
	}
}
