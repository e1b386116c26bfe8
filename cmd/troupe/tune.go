package main

import (
	"os"
	"runtime/debug"

	"troupe/configs"
)

// tune sets the collector for a process whose live heap is a few MiB: without a floor it would run for every few MiB of
// requests. What is in flight is bounded by credits, so the heap stays near the floor.
func tune(*configs.Loaded) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(100)
	}
}
