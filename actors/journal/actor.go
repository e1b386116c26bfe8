package journal

import (
	"context"
	"log/slog"
	"time"

	"troupe/actors/kit"
)

const (
	// linesEach is how many events of a kind are told one by one in a window.
	linesEach = 10
	// window is how long what comes after them is added up.
	window = 10 * time.Second
)

// actor writes the lines. A window of a kind begins with its first event; what is over linesEach in it is told at its
// end as one line.
type actor struct {
	log  *slog.Logger
	rows [kinds]row
}

// row is the window of one kind.
type row struct {
	told     int // one by one
	more     int
	segments int
	bytes    int64
	last     string
}

// windowDue is the end of a window.
type windowDue struct{ kind Kind }

func (*windowDue) MessageKind() string { return "journal.window-due" }

// New makes the actor that writes lines to log. A panic loses the counts of open windows: they are of what is over.
func New(log *slog.Logger) kit.Props {
	return kit.Props{Kind: "journal", New: func() kit.Behavior { return &actor{log: log} }}
}

// Receive tells an event, or counts it for the end of its window.
func (a *actor) Receive(ctx *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case *Event:
		a.event(ctx, m)
	case *windowDue:
		a.sum(m.kind)
	}
}

// Stopped tells what the end of the broker leaves in open windows.
func (a *actor) Stopped(*kit.Context) {
	for kind := range kinds {
		a.sum(kind)
	}
}

func (a *actor) event(ctx *kit.Context, e *Event) {
	r := &a.rows[e.Kind]
	if r.told == 0 {
		ctx.After(window, &windowDue{e.Kind})
	}
	if r.told == linesEach {
		r.more++
		r.segments += e.Segments
		r.bytes += e.Bytes
		r.last = e.Name
		return
	}
	r.told++
	w := wording[e.Kind]
	attrs := append([]slog.Attr{slog.String(w.key, e.Name)}, e.More...)
	a.log.LogAttrs(context.Background(), slog.LevelInfo, w.message, append(attrs, gone(e.Segments, e.Bytes)...)...)
}

// sum ends a window.
func (a *actor) sum(kind Kind) {
	r := a.rows[kind]
	a.rows[kind] = row{}
	if r.more == 0 {
		return
	}
	w := wording[kind]
	attrs := []slog.Attr{slog.Int("more", r.more), slog.String("last_"+w.key, r.last)}
	a.log.LogAttrs(context.Background(), slog.LevelInfo, w.message, append(attrs, gone(r.segments, r.bytes)...)...)
}

// gone leaves out what does not apply: most events remove nothing, and whole logs are not counted by segments.
func gone(segments int, bytes int64) (attrs []slog.Attr) {
	if segments > 0 {
		attrs = append(attrs, slog.Int("segments", segments))
	}
	if bytes > 0 {
		attrs = append(attrs, slog.Int64("bytes", bytes))
	}
	return attrs
}
