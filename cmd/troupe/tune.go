package main

import (
	"bytes"
	"math"
	"os"
	"runtime/debug"
	"strconv"
)

// tune keeps the process under a container's memory limit: near it the collector works harder instead of letting the
// kernel kill the broker. GOMEMLIMIT in the environment wins. (The number of processors follows the container by itself.)
func tune() {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	if limit, ok := containerMemory(); ok {
		// What is not the Go heap (stacks, page tables, the kernel's buffers for sockets) gets the rest.
		debug.SetMemoryLimit(limit / 10 * 9)
	}
}

// garbageShare is how much garbage may come to each byte that is in use before the collector runs, in percent. What a
// busy broker has in use is a few MiB, so Go's 100 means a collection every few milliseconds (docs/adr/0012).
const garbageShare = 250

// relaxCollector lets garbage grow once the broker is up; what the start leaves behind is collected at Go's own pace, so
// that an idle broker stays small. GOGC in the environment wins.
func relaxCollector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbageShare)
	}
}

// containerMemory is the limit of the control group, version 2 or 1.
func containerMemory() (int64, bool) {
	for _, name := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
		// "max", and version 1's number near 2^63, mean none.
		return n, err == nil && n < math.MaxInt64/2
	}
	return 0, false
}
