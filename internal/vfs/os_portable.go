//go:build !linux

package vfs

import (
	"errors"
	"io"
)

func (f *osFile) WriteVectorAt(bufs [][]byte, off int64) (int64, error) {
	var done int64
	for _, b := range bufs {
		n, err := f.WriteAt(b, off+done)
		done += int64(n)
		if err != nil {
			return done, err
		}
		if n < len(b) {
			return done, f.fail("write", io.ErrShortWrite)
		}
	}
	return done, nil
}

// ReadAtCached cannot ask the page cache here, so it reads.
func (f *osFile) ReadAtCached(p []byte, off int64) (int, bool, error) {
	n, err := f.ReadAt(p, off)
	return n, true, err
}

// WillNeed does nothing: the bytes are read when they are asked for.
func (f *osFile) WillNeed(int64, int64) {}

func syncAll(string) error { return errors.ErrUnsupported }

func era(string) (string, error) { return "", nil }

func (f *osFile) Sync() error { return f.File.Sync() }

// Allocate does nothing: the blocks are found as they are written.
func (f *osFile) Allocate(int64) error { return nil }
