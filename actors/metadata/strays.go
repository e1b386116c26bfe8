package metadata

import (
	"path/filepath"

	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/internal/model"
)

// StraySuffix ends the name of a directory whose log belongs to no topic: "orders-0.<32 hex digits>-stray", Kafka's name.
const StraySuffix = "-stray"

// strays counts what is being set aside: a broker whose topics were deleted while it was down has thousands of them, and
// says so once.
type strays struct {
	left, done int
	first      string // where the first one went
}

// clearAside renames what no image claims: the topic was deleted while this broker was down, or the directory is foreign.
// Nothing is deleted, as in Kafka: metadata that was lost must not take the data with it.
func (a *applier) clearAside(ctx *kit.Context) {
	self := ctx.Self()
	for tp, all := range a.kept.found {
		a.kept.strays.left += len(all)
		for _, f := range all {
			from := filepath.Join(f.Dir.Path, tp.String())
			to := from + "." + model.RandomUUID().Hex() + StraySuffix
			fs := f.Dir.Env.FS
			ctx.Send(f.Dir.BulkLane(tp), &disk.Task{
				Name: "set aside " + tp.String(),
				Do:   func() error { return fs.Rename(from, to) },
				Done: func(err error) { self.Send(&aside{tp, to, err}) },
			})
		}
	}
	a.kept.found = nil
}

// setAside counts what the lanes have done, and tells of it when the last one has answered.
func (a *applier) setAside(m *aside) {
	s := &a.kept.strays
	s.left--
	if m.err != nil {
		a.deps.Log.Error("a log that belongs to no topic cannot be set aside", "partition", m.partition.String(), "err", m.err)
	} else {
		if s.done == 0 {
			s.first = m.to
		}
		s.done++
	}
	if s.left == 0 && s.done > 0 {
		a.deps.Log.Warn("logs that belong to no topic were set aside and are kept until they are moved or deleted by hand",
			"logs", s.done, "first", s.first)
	}
}
