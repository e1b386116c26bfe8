package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// machine describes what is measured on.
func machine() string {
	model := field("/proc/cpuinfo", "model name")
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		kernel = []byte("?")
	}
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		load = []byte("?")
	}
	return fmt.Sprintf("%s/%s, %d × %s, %s of memory, kernel %s, %s, load average %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(),
		model, field("/proc/meminfo", "MemTotal"), strings.TrimSpace(string(kernel)), runtime.Version(), strings.TrimSpace(string(load)))
}

// field gives a value of a "name: value" file of /proc, "?" where there is none.
func field(file, name string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return "?"
	}
	for line := range strings.Lines(string(text)) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "?"
}

// touchCommand makes this program touch memory and end; it is given to a child process, whose memory goes back.
const touchCommand = "touch-memory"

const mostTouched = 8 // GiB

// memoryToTouch is in GiB.
func memoryToTouch() int {
	kib, err := strconv.Atoi(strings.TrimSuffix(field("/proc/meminfo", "MemAvailable"), " kB"))
	if err != nil {
		return 0
	}
	return min(mostTouched, kib>>20/3)
}

// touchMemory makes the hypervisor of a virtual machine give it the memory that the page cache is about to take: the
// first touch of a page that it holds back costs ten times the copy of the data into it, 0.2 against 2 seconds and
// more a GB, at random, and would drown what the broker does.
func (b *bench) touchMemory() error {
	if b.memory == 0 {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if out, err := exec.Command(self, touchCommand, strconv.Itoa(b.memory)).CombinedOutput(); err != nil {
		return fmt.Errorf("touch %d GiB of memory: %w\n%s", b.memory, err, out)
	}
	return nil
}

func touch(gib string) error {
	n, err := strconv.Atoi(gib)
	if err != nil {
		return err
	}
	for block := make([][]byte, n); n > 0; n-- {
		block[n-1] = make([]byte, 1<<30)
		for i := 0; i < len(block[n-1]); i += os.Getpagesize() {
			block[n-1][i] = 1
		}
	}
	return nil
}

// dropCaches empties the page cache: of the whole machine where that is allowed, else of the files.
func dropCaches(files []string) error {
	if err := exec.Command("sync").Run(); err != nil {
		return err
	}
	whole := os.WriteFile("/proc/sys/vm/drop_caches", []byte("3"), 0)
	if whole == nil {
		return nil
	}
	var failures error
	for _, f := range files {
		// posix_fadvise(POSIX_FADV_DONTNEED), as coreutils spells it.
		out, err := exec.Command("dd", "of="+f, "oflag=nocache", "conv=notrunc,fdatasync", "count=0").CombinedOutput()
		if err != nil {
			failures = errors.Join(failures, fmt.Errorf("%w\n%s", err, out))
		}
	}
	return failures
}

// disk is what dd reaches with the disk under test.
type disk struct {
	mbps float64 // until all is on the disk
	cpu  float64 // seconds a GB
}

// dd writes so many millions of bytes and waits for the disk.
func (b *bench) dd(megabytes int) (disk, error) {
	file := filepath.Join(b.folder, "dd")
	defer os.Remove(file)
	cmd := exec.Command("dd", "if=/dev/zero", "of="+file, "bs=1000000", fmt.Sprintf("count=%d", megabytes), "conv=fdatasync")
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return disk{}, fmt.Errorf("dd: %w\n%s", err, out)
	}
	took := time.Since(began).Seconds()
	cpu := (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	return disk{float64(megabytes) / took, cpu / (float64(megabytes) / 1000)}, nil
}
