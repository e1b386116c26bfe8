package listener

import (
	"io"
	"net"
	"sync"

	"troupe/partitionlog"
)

var outBuffers = sync.Pool{New: func() any { b := make([]byte, 0, 8<<10); return &b }}

var copyBuffers = sync.Pool{New: func() any { b := make([]byte, 128<<10); return &b }}

// copyRegion sends a region through the heap, where the system cannot send a file or the link is not plain TCP.
func copyRegion(w io.Writer, r *partitionlog.Region) error {
	buf := copyBuffers.Get().(*[]byte)
	defer copyBuffers.Put(buf)
	for done := int64(0); done < r.Len; {
		n, err := r.File.ReadAt((*buf)[:min(int64(len(*buf)), r.Len-done)], r.Pos+done)
		if n == 0 {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		if _, err := w.Write((*buf)[:n]); err != nil {
			return err
		}
		done += int64(n)
	}
	return nil
}

// sendRegion sends a region from the page cache to the socket, without copying it through the heap where it can.
func sendRegion(c net.Conn, r *partitionlog.Region) error {
	if fd, ok := r.File.Descriptor(); ok {
		if tcp, ok := c.(*net.TCPConn); ok {
			return sendFile(tcp, fd, r)
		}
	}
	return copyRegion(c, r)
}
