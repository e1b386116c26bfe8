package metadata

import (
	"path/filepath"
	"slices"

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

// claimCopy takes a copy that was being moved to the directory which the metadata names, and whose log is nowhere: the log was in a
// directory that is gone. A copy had everything when the metadata came to name its directory, or it was about to (KIP-858).
func (a *applier) claimCopy(tp model.TopicPartition, assigned []model.DirectoryID, at int) (f Found, there bool) {
	all := a.kept.copies[tp]
	i := slices.IndexFunc(all, func(f Found) bool { return at < len(assigned) && f.Dir.ID == assigned[at] })
	if i < 0 {
		return Found{}, false
	}
	f = all[i]
	a.kept.copies[tp] = slices.Delete(all, i, i+1)
	a.deps.Log.Warn("the log of a replica is nowhere: the copy that was being moved takes its place, since the metadata names its directory",
		"partition", tp.String(), "copy", f.Copy)
	return f, true
}

// tellCopies reminds of the others, which are only parts of logs, in one line a start.
func (a *applier) tellCopies() {
	var left []string
	for _, all := range a.kept.copies {
		for _, f := range all {
			left = append(left, f.Copy)
		}
	}
	if len(left) > 0 {
		a.deps.Log.Info("copies that were being moved, and whose logs are nowhere, are kept until they are moved or deleted by hand",
			"directories", len(left), "first", slices.Min(left))
	}
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
