//go:build unix

package broker

import "syscall"

// descriptorLimit gives the files that may be open; the Go runtime has raised the soft limit to the hard one.
func descriptorLimit(configured int) int {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return max(configured, 1024)
	}
	limit := int(min(r.Cur, 1<<20))
	if configured > 0 {
		limit = min(limit, configured)
	}
	return limit
}
