package simulation

import (
	"fmt"
	"hash/fnv"
	"io"
	"strings"
	"time"
)

// tailLength is how many of the last events a failure shows.
const tailLength = 60

// history is all that happened, as a hash that two runs of one seed must agree on, and the last events as text.
type history struct {
	world *World
	out   io.Writer
	hash  uint64
	tail  [tailLength]string
	count int
}

// note tells of an event that a reader of the story wants to see.
func (w *World) note(kind, format string, args ...any) {
	line := fmt.Sprintf("%12s %-10s %s", w.since().Round(time.Microsecond), kind, fmt.Sprintf(format, args...))
	h := &w.history
	h.add([]byte(line))
	h.tail[h.count%tailLength] = line
	h.count++
	if h.out != nil {
		fmt.Fprintln(h.out, line)
	}
}

// frame counts a frame that arrives. There are too many of them to be told, but to who looks for the first difference
// between two runs of a seed.
func (h *history) frame(from, to int, b []byte) {
	h.add(append([]byte{byte(from), byte(to)}, b...))
	if h.out != nil && h.world.Frames {
		fmt.Fprintf(h.out, "%12s frame      from %d to %d, %d bytes %x, turn %d, history %x\n", h.world.since(), from, to, len(b), b[:min(len(b), 48)], h.world.steps, h.hash)
	}
}

// add counts an event.
func (h *history) add(b []byte) {
	f := fnv.New64a()
	var seen [16]byte
	at := h.world.clock.Now().UnixNano()
	for i := range 8 {
		seen[i], seen[8+i] = byte(h.hash>>(8*i)), byte(at>>(8*i))
	}
	_, _ = f.Write(seen[:]) // a hash takes everything
	_, _ = f.Write(b)
	h.hash = f.Sum64()
}

// last gives the events before the end.
func (h *history) last() string {
	var s strings.Builder
	for i := max(0, h.count-tailLength); i < h.count; i++ {
		s.WriteString(h.tail[i%tailLength])
		s.WriteByte('\n')
	}
	return s.String()
}
