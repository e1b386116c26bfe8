//go:build !linux

package load

import "time"

// pacer waits for moments as exactly as Go's timers do.
type pacer struct{}

func newPacer() pacer { return pacer{} }

func (pacer) stop() {}

func (pacer) until(t time.Time) { pause(time.Until(t)) }
