package producer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"troupe/codec/kerr"
	"troupe/internal/model"
)

// A scenario is a text file: prose after '#', a command after '>', and on the next line what it must answer. The world
// is a log of which only the batches with a producer id are kept, and the state that goes with it.
type world struct {
	state   State
	log     []entered
	end     model.Offset
	nowMs   int64
	saved   []byte // bytes of the last snapshot
	savedAt model.Offset
}

// entered is a batch or a marker in the log, as a follower or a replay meets it.
type entered struct {
	at     model.Offset
	batch  Batch
	marker *Marker
}

func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { play(t, file) })
	}
}

func play(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for i := 0; i < len(lines); i++ {
		command, ok := strings.CutPrefix(lines[i], "> ")
		if !ok {
			continue
		}
		if i++; i == len(lines) {
			t.Fatalf("%s:%d: no answer follows", file, i)
		}
		if got := w.do(t, command); got != lines[i] {
			t.Errorf("%s:%d: %s\n got %s\nwant %s", file, i, command, got, lines[i])
		}
	}
}

// do understands:
//
//	send P/E seq S xN [txn] [v2] [copied]   a batch of N records; copied: by a follower, unchecked
//	offsets P/E xN                          a transactional batch of the group coordinator
//	plain xN                                N records without a producer id
//	commit|abort P/E coordinator C [v2] [copied]
//	hw N · now MS · expire MS · snapshot · restart [refill] · truncate N · list
func (w *world) do(t *testing.T, command string) string {
	f := strings.Fields(command)
	has := func(flag string) bool { return strings.Contains(command+" ", " "+flag+" ") }
	switch f[0] {
	case "send":
		b := Batch{BaseSequence: model.Sequence(number(t, f[3])), Transactional: has("txn")}
		return w.send(addressed(t, b, f[1], f[4]), map[bool]Origin{true: ClientV2}[has("v2")], has("copied"))
	case "offsets":
		b := Batch{BaseSequence: NoSequence, Transactional: true}
		return w.send(addressed(t, b, f[1], f[2]), Coordinator, false)
	case "plain":
		return w.advance(number(t, f[1][1:]))
	case "commit", "abort":
		who := addressed(t, Batch{}, f[1], "x1")
		m := Marker{ProducerID: who.ProducerID, Epoch: who.Epoch, Abort: f[0] == "abort",
			CoordinatorEpoch: model.CoordinatorEpoch(number(t, f[3]))}
		return w.mark(m, has("v2"), has("copied"))
	case "hw":
		w.state.HighWatermark(model.Offset(number(t, f[1])))
		return w.unstable()
	case "now":
		w.nowMs = number(t, f[1])
		return "ok"
	case "expire":
		return fmt.Sprintf("%d gone", w.state.Expire(w.nowMs, number(t, f[1])))
	case "snapshot":
		w.saved, w.savedAt = AppendSnapshot(nil, w.state.Entries()), w.end
		return fmt.Sprintf("at %d", w.end)
	case "restart":
		return w.rebuild(t, w.end, has("refill"))
	case "truncate":
		return w.rebuild(t, model.Offset(number(t, f[1])), has("refill"))
	case "list":
		return w.list()
	}
	t.Fatalf("unknown command %q", command)
	return ""
}

func (w *world) send(b Batch, o Origin, copied bool) string {
	b.MaxTimestampMs = w.nowMs
	if !copied {
		original, ok, err := w.state.Check(b, o)
		if err != nil {
			return codeName(err)
		}
		if ok {
			return fmt.Sprintf("duplicate of %d-%d at %d ms", original.BaseOffset, original.LastOffset, original.TimestampMs)
		}
	}
	b.BaseOffset = w.end
	w.state.Append(b)
	w.log = append(w.log, entered{at: w.end, batch: b})
	return w.advance(int64(b.LastOffsetDelta) + 1)
}

func (w *world) mark(m Marker, v2, copied bool) string {
	if err := w.state.CheckMarker(m, v2); err != nil && !copied {
		return codeName(err)
	}
	m.Offset, m.TimestampMs = w.end, w.nowMs
	w.log = append(w.log, entered{at: w.end, marker: &m})
	w.end++
	c, ok := w.state.Complete(m)
	if !ok {
		return fmt.Sprintf("marker at %d, nothing was open", m.Offset)
	}
	return fmt.Sprintf("%d-%d %s, last stable %d", c.FirstOffset, c.LastOffset,
		map[bool]string{true: "aborted", false: "committed"}[c.Aborted], c.LastStable)
}

// rebuild restores the saved snapshot and replays the log from there up to end, as a start or a truncation does.
func (w *world) rebuild(t *testing.T, end model.Offset, refill bool) string {
	entries, err := DecodeSnapshot(w.saved)
	if err != nil {
		t.Fatal(err)
	}
	w.state.Restore(entries)
	kept := w.log[:0]
	for _, e := range w.log {
		if e.at >= end {
			continue
		}
		kept = append(kept, e)
		switch {
		case e.at < w.savedAt && refill && e.marker == nil:
			w.state.Refill(e.batch)
		case e.at < w.savedAt:
		case e.marker != nil:
			w.state.Complete(*e.marker)
		default:
			w.state.Append(e.batch)
		}
	}
	w.log, w.end = kept, end
	return fmt.Sprintf("%d producers, %s", w.state.Len(), w.unstable())
}

func (w *world) list() string {
	if w.state.Len() == 0 {
		return "nobody"
	}
	var out []string
	for _, e := range w.state.Entries() {
		out = append(out, fmt.Sprintf("%d/%d sequence %d offset %d coordinator %d open %d",
			e.ProducerID, e.Epoch, e.LastSequence, e.LastOffset, e.CoordinatorEpoch, e.TxnFirstOffset))
	}
	return strings.Join(out, "; ")
}

func (w *world) unstable() string {
	if o, ok := w.state.FirstUnstable(); ok {
		return fmt.Sprintf("unstable from %d", o)
	}
	return "all stable"
}

func (w *world) advance(n int64) string {
	from := w.end
	w.end += model.Offset(n)
	return fmt.Sprintf("appended %d-%d", from, w.end-1)
}

func addressed(t *testing.T, b Batch, who, size string) Batch {
	t.Helper()
	var n int32
	if _, err := fmt.Sscanf(who+" "+size, "%d/%d x%d", &b.ProducerID, &b.Epoch, &n); err != nil {
		t.Fatalf("%q %q: %v", who, size, err)
	}
	b.LastOffsetDelta = n - 1
	return b
}

func number(t *testing.T, text string) int64 {
	t.Helper()
	var n int64
	if _, err := fmt.Sscan(text, &n); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return n
}

func codeName(err error) string {
	var e *kerr.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	return e.Code.Name()
}
