package peer

import "log/slog"

// TCP is the Transport between processes.
type TCP struct {
	Log *slog.Logger
	// FrameMax bounds a reply, in bytes.
	FrameMax int
}
