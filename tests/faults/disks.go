//go:build interop && linux

package faults

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"troupe/tests/node"
)

// mount puts a filesystem in memory on a folder, until the test ends.
func (s *stage) mount(dir string, mib int) {
	s.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", mib)); err != nil {
		s.Skipf("mounting a filesystem needs root: %v", err)
	}
	s.unmountAtEnd(dir)
}

// unmountAtEnd takes away what is mounted on a folder, unless somebody did so before.
func (s *stage) unmountAtEnd(dir string) {
	s.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil && !errors.Is(err, syscall.EINVAL) {
			s.Error(err)
		}
	})
}

// brittleDisks gives each node a disk that can fail: a filesystem in a file, on another one that has less room than it
// promises. When that is full, the system cannot write what it took, and tells EIO.
func brittleDisks(s *stage) {
	s.Helper()
	for _, n := range s.cluster.Nodes {
		below := s.TempDir()
		s.mount(below, 128)
		s.disks[n.ID] = below
		image := filepath.Join(below, "image")
		for _, line := range [][]string{
			{"truncate", "-s", "1G", image},
			{"mkfs.ext4", "-q", "-F", "-E", "nodiscard", image},
			{"mount", "-o", "loop,errors=remount-ro", image, n.Dir},
		} {
			if out, err := exec.Command(line[0], line[1:]...).CombinedOutput(); err != nil {
				s.Skipf("%v: %v %s", line, err, out)
			}
		}
		s.unmountAtEnd(n.Dir)
	}
}

func (s *stage) ballast() string { return filepath.Join(s.disks[s.chosen[0]], "ballast") }

// fill leaves no byte on the disk of the chosen node.
func fill(s *stage) {
	s.Helper()
	f, err := os.Create(s.ballast())
	if err != nil {
		s.Fatal(err)
	}
	defer f.Close()
	for _, size := range []int{1 << 20, 4 << 10, 1} {
		for block := make([]byte, size); err == nil; {
			_, err = f.Write(block)
		}
		if !errors.Is(err, syscall.ENOSPC) {
			s.Fatal(err)
		}
		err = nil
	}
}

// ended waits until the chosen node's process has ended by itself.
func ended(s *stage) {
	s.Helper()
	n := s.nodes()[0]
	node.Eventually(s, fmt.Sprintf("node %d gives up", n.ID), func() bool { return !n.Running() })
}

// replaceDisk gives the chosen node another disk, which is empty and does not fail.
func replaceDisk(s *stage) {
	s.Helper()
	n := s.nodes()[0]
	if err := syscall.Unmount(n.Dir, syscall.MNT_DETACH); err != nil {
		s.Fatal(err)
	}
	s.mount(n.Dir, 128)
}

// smallDisks gives each node, before it is started, a filesystem of its own of so many MiB, which can be filled.
func smallDisks(mib int) Step {
	return func(s *stage) {
		s.Helper()
		for _, n := range s.cluster.Nodes {
			s.mount(n.Dir, mib)
			s.disks[n.ID] = n.Dir
		}
	}
}

// relieve gives the room back.
func relieve(s *stage) {
	s.Helper()
	if err := os.Remove(s.ballast()); err != nil {
		s.Fatal(err)
	}
}

// startIfEnded starts the chosen node unless it has lived through what happened.
func startIfEnded(s *stage) {
	s.Helper()
	for _, n := range s.nodes() {
		if !n.Running() {
			s.Logf("node %d ended:\n%.2000s", n.ID, n.Output())
			n.Restart()
		}
	}
}
