//go:build !linux

package listener

import (
	"net"

	"troupe/partitionlog"
)

func sendFile(c *net.TCPConn, _ uintptr, r *partitionlog.Region) error { return copyRegion(c, r) }
