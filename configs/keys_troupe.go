package configs

// troupeKeys are those that Kafka does not have.
var troupeKeys = []Key{
	{Name: "admin.address", Own: true, Type: String, Importance: Medium,
		Doc: "HOST:PORT for metrics, health, profiles, actors and traces, open to whoever reaches it; empty opens none."},
	{Name: "log.format", Own: true, Type: String, Default: "logfmt", Valid: oneOf("logfmt", "json"), Importance: Low,
		Doc: "Form of the lines that the process logs to its standard error."},
	{Name: "log.level", Own: true, Type: String, Default: "info", Valid: oneOf("debug", "info", "warn", "error"), Importance: Low,
		Doc: "Least severity of the lines that the process logs."},
	{Name: "trace.sample.every", Own: true, Type: Int, Default: "0", Valid: atLeast(0), Unit: "messages", Importance: Low,
		Doc: "One message of so many that enter the broker is traced with all it causes; 0 traces none."},
	{Name: "trace.spans.max", Own: true, Type: Int, Default: "8192", Valid: between(1, 1<<24), Importance: Low,
		Doc: "How many spans are kept; the newest replace the oldest."},
	{Name: "index.memory.max.bytes", Own: true, Type: Long, Default: "33554432", Valid: atLeast(1 << 20), Unit: "bytes", Importance: Medium,
		Doc: "Memory for index entries of all partitions; others are read from the files when needed."},
	{Name: "open.files.max", Own: true, Type: Int, Default: "0", Valid: atLeast(0), Importance: Medium,
		Doc: "Descriptors for files, connections and links together; 0 takes the limit of the process."},
	{Name: "in.flight.max.bytes", Own: true, Type: Long, Default: "268435456", Valid: atLeast(1 << 20), Unit: "bytes", Importance: Medium,
		Doc: "Bytes of requests, queued replies and files being sent, of all connections, above which no more requests are read."},
	{Name: "connection.in.flight.max.bytes", Own: true, Type: Long, Default: "16777216", Valid: atLeast(1 << 16), Unit: "bytes", Importance: Medium,
		Doc: "The same for one connection. A single larger request is still read, alone."},
	{Name: "disk.append.lanes", Own: true, Type: Int, Default: "2", Valid: between(1, 64), Importance: Low,
		Doc: "How many writes to one log directory are under way at once."},
	{Name: "disk.read.lanes", Own: true, Type: Int, Default: "2", Valid: between(1, 64), Importance: Low,
		Doc: "How many reads of bytes that are not in the page cache are under way at once in one log directory."},
	{Name: "shutdown.timeout.ms", Own: true, Type: Long, Default: "10000", Valid: atLeast(0), Unit: "ms", Importance: Low,
		Doc: "How long open requests may take to end after the first SIGTERM."},
}
