package console

import "troupe/internal/histogram"

// Writes go to the page cache: one that is slow tells that the kernel holds writers back. Fsyncs tell of the device.
var (
	offlineDirectories = desc("kafka_log_logmanager_offlinelogdirectorycount", "Log directories that failed.")
	cordoned           = desc("kafka_log_logmanager_cordonedlogdirectorycount", "Log directories that take no new replicas (cordoned.log.dirs).")
	directoryOffline   = desc("troupe_log_directory_offline", "1 if the log directory failed.", "directory")
	flushTimeMs        = desc("kafka_log_logflushstats_logflushrateandtimems",
		"Time of an fsync of a partition log, in milliseconds; quantiles of the last minute or two.")
	flushSeconds = desc("troupe_log_flush_seconds", "Time of an fsync of a partition log.", "directory")
	writeSeconds = desc("troupe_log_write_seconds", "Time of the coalesced writes of a turn of an append lane.", "directory")
)

// collectDisks tells of the log directories. Kafka has no label for the directory of an fsync, so the sum over all is
// given under its name and each apart under Troupe's.
func (s *Server) collectDisks(e emitter) {
	failed := 0
	var flushes histogram.Counts
	for _, d := range s.deps.Node.Dirs {
		failed += one(d.Err() != nil)
		e.gauge(directoryOffline, float64(one(d.Err() != nil)), d.Path)
		f, w := d.Flushes.Read(), d.Writes.Read()
		flushes = flushes.Plus(f)
		e.seconds(flushSeconds, &f, d.Path)
		e.seconds(writeSeconds, &w, d.Path)
	}
	e.gauge(offlineDirectories, float64(failed))
	if b, known := s.deps.Node.Image().Broker(s.deps.Node.ID); known {
		e.gauge(cordoned, float64(len(b.CordonedLogDirs)))
	}
	recent := s.times.recentFlushes(flushes)
	e.millis(flushTimeMs, &flushes, &recent)
}
