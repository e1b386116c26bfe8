package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// forgetStart takes the program's own code out of the process's memory once it is ready: what only the start has run is half of
// it. What runs again is mapped again, from the page cache. Code is never written to, so nothing can be lost; of data that
// could not be said. Errors leave everything as it is.
func forgetStart() {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer maps.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		var from, to uintptr
		var rights string
		_, err := fmt.Sscanf(lines.Text(), "%x-%x %s", &from, &to, &rights)
		if err != nil || rights != "r-xp" || !strings.HasSuffix(lines.Text(), " "+self) {
			continue
		}
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED) // a hint
	}
}
