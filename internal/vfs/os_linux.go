package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// iovMax is the kernel's limit of buffers in one call (IOV_MAX).
const iovMax = 1024

// WriteVectorAt goes on after a short write until the kernel says why: on a full disk the bytes that fit are written, and
// the caller is told how many, with the error of the next call.
func (f *osFile) WriteVectorAt(bufs [][]byte, off int64) (int64, error) {
	var done int64
	for len(bufs) > 0 {
		n, err := unix.Pwritev(int(f.fd), bufs[:min(len(bufs), iovMax)], off+done)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return done, f.fail("pwritev", err)
		}
		if n == 0 && len(bufs[0]) > 0 {
			return done, f.fail("pwritev", io.ErrShortWrite)
		}
		// A full disk writes what fits and reports the error to the next call.
		done += int64(n)
		bufs = skip(bufs, n)
	}
	return done, nil
}

// skip drops the first n bytes of bufs, and buffers that are empty.
func skip(bufs [][]byte, n int) [][]byte {
	for len(bufs) > 0 && n >= len(bufs[0]) {
		n -= len(bufs[0])
		bufs = bufs[1:]
	}
	if n > 0 {
		bufs[0] = bufs[0][n:]
	}
	return bufs
}

// noWaitRefused is set once a file system answered that it does not know RWF_NOWAIT (tmpfs of old kernels, overlay
// and network file systems); the page cache is then not asked again.
var noWaitRefused atomic.Bool

// ReadAtCached never waits for the disk (preadv2 with RWF_NOWAIT, Linux 4.14). Where that is not to be had everything
// counts as cached, so that the caller reads on its own goroutine, as it would without the question.
func (f *osFile) ReadAtCached(p []byte, off int64) (int, bool, error) {
	if !noWaitRefused.Load() {
		n, err := unix.Preadv2(int(f.fd), [][]byte{p}, off, unix.RWF_NOWAIT)
		switch {
		case err == nil && (n == len(p) || n == 0):
			return n, true, eof(n, len(p))
		case err == nil:
			// A short count is the end of the file or of what is cached.
			return n, false, nil
		case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR):
			return 0, false, nil
		case !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.ENOSYS):
			return 0, false, f.fail("preadv2", err)
		}
		noWaitRefused.Store(true)
	}
	n, err := f.ReadAt(p, off)
	return n, true, err
}

// WillNeed goes without an answer: whoever reads meets the error.
func (f *osFile) WillNeed(off, n int64) { _ = unix.Fadvise(int(f.fd), off, n, unix.FADV_WILLNEED) }

func eof(n, want int) error {
	if n < want {
		return io.EOF
	}
	return nil
}

// Sync leaves out what fsync writes beyond data and size, such as the time of the last change.
func (f *osFile) Sync() error {
	for {
		err := unix.Fdatasync(int(f.fd))
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EINTR) {
			return f.fail("fdatasync", err)
		}
	}
}

// syncAll waits for the disk and reports writes that were lost (Linux 5.8 and later).
func syncAll(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	if err = unix.Syncfs(int(d.Fd())); err != nil {
		err = &fs.PathError{Op: "syncfs", Path: dir, Err: err}
	}
	return errors.Join(err, d.Close())
}

// bootID is new whenever the kernel starts.
const bootID = "/proc/sys/kernel/random/boot_id"

// eraMask is what era needs to know of a file. Only the ids of mounts that are never used again tell a device that was lost
// and mounted anew (Linux 6.8 and later); numbers of files are used again, so the time when it was made goes with it.
const eraMask = unix.STATX_MNT_ID_UNIQUE | unix.STATX_INO | unix.STATX_BTIME

// era is the running kernel and the mount, with either of which goes what is unsynced, and the file. Who keeps these from
// the process, as a container may, is answered with less speed, not with an error.
func era(name string) (string, error) {
	boot, err := os.ReadFile(bootID)
	if err != nil {
		return "", nil
	}
	var st unix.Statx_t
	err = unix.Statx(unix.AT_FDCWD, name, 0, eraMask, &st)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return "", nil
	}
	if err != nil {
		return "", &fs.PathError{Op: "statx", Path: name, Err: err}
	}
	if st.Mask&eraMask != eraMask {
		return "", nil
	}
	return fmt.Sprintf("%s mount %d file %d:%d:%d made %d.%09d", strings.TrimSpace(string(boot)), st.Mnt_id,
		st.Dev_major, st.Dev_minor, st.Ino, st.Btime.Sec, st.Btime.Nsec), nil
}

// Allocate keeps the size, which readers and recovery go by; Kafka's preallocation shows as zeros at the end of a file.
func (f *osFile) Allocate(size int64) error {
	err := unix.Fallocate(int(f.fd), unix.FALLOC_FL_KEEP_SIZE, 0, size)
	if err == nil || errors.Is(err, unix.EOPNOTSUPP) {
		return nil
	}
	return f.fail("fallocate", err)
}
