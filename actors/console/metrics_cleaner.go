package console

var (
	cleanerDead    = desc("kafka_log_logcleaner_deadthreadcount", "Lanes of cleaners that were given up; want 0.")
	cleanerLongest = desc("kafka_log_logcleaner_max_clean_time_secs", "Longest of the last cleanings of each directory, in seconds.")
	cleanerIdle    = desc("kafka_log_logcleanermanager_time_since_last_run_ms",
		"Time since a cleaner looked for work, in milliseconds; the longest of all directories.")
	cleanerAside = desc("kafka_log_logcleanermanager_uncleanable_partitions_count",
		"Logs that cannot be compacted and are left alone; want 0.", "logdirectory")
	cleanerBytes = desc("troupe_cleaner_bytes_total", "Bytes that cleaners have read and written.", "directory")
)

// collectCleaners gives the sums and maxima that Kafka's metrics are of; where Kafka has one cleaner manager a broker, there
// is a cleaner a directory here.
func (s *Server) collectCleaners(e emitter) {
	now := s.deps.Node.Clock.Now()
	var dead, longest, idle float64
	for _, d := range s.deps.Node.Dirs {
		c := &d.Cleaning
		dead += float64(c.Dead.Load())
		longest = max(longest, c.LastTook().Seconds())
		idle = max(idle, float64(c.SinceRun(now).Milliseconds()))
		e.gauge(cleanerAside, float64(c.Uncleanable.Load()), d.Path)
		e.counter(cleanerBytes, float64(c.Bytes.Load()), d.Path)
	}
	e.gauge(cleanerDead, dead)
	e.gauge(cleanerLongest, longest)
	e.gauge(cleanerIdle, idle)
}
