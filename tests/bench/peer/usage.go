package peer

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Usage is what a process has taken so far.
type Usage struct {
	CPU      time.Duration // of all its threads, in the kernel too
	Resident float64       // MiB
}

// tick is the unit of /proc/PID/stat, USER_HZ, which is 100 on every Linux that Go runs on.
const tick = time.Second / 100

// Usage reads the process's account from /proc (Linux alone).
func (b *Broker) Usage() (Usage, error) {
	of := "/proc/" + strconv.Itoa(b.cmd.Process.Pid)
	stat, err := os.ReadFile(of + "/stat")
	if err != nil {
		return Usage{}, fmt.Errorf("%s is gone: %s", b.Kind.Name, b.tail())
	}
	// The name in parentheses may hold anything; utime and stime are the 12th and 13th fields after it.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 13 {
		return Usage{}, fmt.Errorf("%s/stat is %q", of, stat)
	}
	var u Usage
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return Usage{}, fmt.Errorf("%s/stat: %w", of, err)
		}
		u.CPU += time.Duration(n) * tick
	}
	u.Resident, err = resident(of + "/status")
	return u, err
}

func resident(status string) (float64, error) {
	text, err := os.ReadFile(status)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, "VmRSS:"); found {
			var kib float64
			_, err := fmt.Sscan(rest, &kib)
			return kib / 1024, err
		}
	}
	return 0, fmt.Errorf("%s has no VmRSS", status)
}
