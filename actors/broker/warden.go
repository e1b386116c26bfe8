package broker

import (
	"fmt"

	"troupe/actors/disk"
	"troupe/actors/kit"
)

// warden hears what may end the broker: log directories that failed.
type warden struct{ broker *Broker }

// Receive lets the broker go on with the directories that are left. Without the metadata log it cannot follow the cluster,
// and without any directory it has nothing to serve.
func (w *warden) Receive(_ *kit.Context, m kit.Message) {
	f, ok := m.(*disk.Fenced)
	if !ok {
		return
	}
	b := w.broker
	b.log.Error("log directory is offline", "dir", f.Dir.Path, "err", f.Err)
	if f.Dir == b.metadataDir {
		b.fail(fmt.Errorf("the directory of the metadata log, %s, failed: %w", f.Dir.Path, f.Err))
		return
	}
	for _, d := range b.dirs {
		if d.Err() == nil {
			b.refs.lifecycle.Send(&directoryFailed{})
			return
		}
	}
	b.fail(fmt.Errorf("every log directory failed; the last was %s: %w", f.Dir.Path, f.Err))
}
