package producer

import (
	"bufio"
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"troupe/internal/model"
)

const golden = "../testdata/kafka/"

// dump is what Kafka's dump-log says of one log: its batches in order, the entries of its transaction indexes, and the
// producers of each snapshot by file name.
type dump struct {
	batches   []dumped
	aborted   []Completed
	snapshots map[string][]Entry
}

type dumped struct {
	Batch
	control, abort   bool
	coordinatorEpoch model.CoordinatorEpoch
}

func TestReplayingKafkasLogsGivesKafkasSnapshotsAndTransactionIndexes(t *testing.T) {
	for _, name := range []string{"idempotent", "transactional", "transactional-v1", "transactional-segments", "segments", "deleted"} {
		t.Run(name, func(t *testing.T) { replay(t, name) })
	}
}

// replay checks and takes in every batch, as the leader did, and compares wherever Kafka took a snapshot.
func replay(t *testing.T, name string) {
	d := readDump(t, name)
	var s State
	var aborted []Completed
	compared := 0
	for _, b := range d.batches {
		file := name + "-0/" + paddedOffset(b.BaseOffset) + ".snapshot"
		if want, ok := d.snapshots[file]; ok {
			compared++
			wantEntries(t, file, s.Entries(), want)
		}
		switch {
		case b.ProducerID == model.NoProducerID:
		case b.control:
			m := Marker{b.ProducerID, b.Epoch, b.coordinatorEpoch, b.BaseOffset, b.MaxTimestampMs, b.abort}
			if err := s.CheckMarker(m, name != "transactional-v1"); err != nil {
				t.Errorf("Kafka wrote a marker at %d that is refused: %v", m.Offset, err)
			}
			if c, ok := s.Complete(m); ok && c.Aborted {
				aborted = append(aborted, c)
			}
		default:
			if _, repeated, err := s.Check(b.Batch, Client); repeated || err != nil {
				t.Errorf("Kafka wrote a batch at %d that is refused: repeated %v, %v", b.BaseOffset, repeated, err)
			}
			s.Append(b.Batch)
			if got, ok, _ := s.Check(b.Batch, Client); !ok || got.BaseOffset != b.BaseOffset {
				t.Errorf("the batch at %d is not known when it comes again", b.BaseOffset)
			}
		}
	}
	last := d.batches[len(d.batches)-1].LastOffset() + 1
	file := name + "-0/" + paddedOffset(last) + ".snapshot"
	wantEntries(t, file, s.Entries(), d.snapshots[file])
	if compared++; compared != len(d.snapshots) {
		t.Errorf("%d snapshots were compared, but Kafka took %d", compared, len(d.snapshots))
	}
	if !slices.Equal(aborted, d.aborted) {
		t.Errorf("aborted transactions\n got %+v\nwant %+v", aborted, d.aborted)
	}
}

func TestKafkasSnapshotFilesDecodeAndEncodeBitForBit(t *testing.T) {
	files, err := filepath.Glob(golden + "*/*/*.snapshot")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		entries, err := DecodeSnapshot(data)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if again := AppendSnapshot(nil, entries); !bytes.Equal(again, data) {
			t.Errorf("%s: written again it differs:\n got %x\nwant %x", file, again, data)
		}
		dir := filepath.Dir(file)
		dumped := readDump(t, filepath.Base(filepath.Dir(dir))).snapshots[filepath.Base(dir)+"/"+filepath.Base(file)]
		wantEntries(t, file, entries, dumped)
		var s State
		s.Restore(entries)
		wantEntries(t, file+", restored", s.Entries(), dumped)
	}
}

var (
	batchLine = regexp.MustCompile(`^baseOffset: (\d+) lastOffset: (\d+) .*baseSequence: (-?\d+) .*producerId: (-?\d+) ` +
		`producerEpoch: (-?\d+) .*isTransactional: (\w+) isControl: (\w+) .*Time: (\d+) size`)
	markerLine   = regexp.MustCompile(`^\| .* endTxnMarker: (\w+) coordinatorEpoch: (\d+)`)
	abortedLine  = regexp.MustCompile(`^version: 0 producerId: (\d+) firstOffset: (\d+) lastOffset: (\d+) lastStableOffset: (\d+)`)
	producerLine = regexp.MustCompile(`^producerId: (\d+) producerEpoch: (\d+) coordinatorEpoch: (-?\d+) ` +
		`currentTxnFirstOffset: OptionalLong(?:\.empty|\[(\d+)\]) lastTimestamp: (\d+)` +
		`(?: firstSequence: \d+ lastSequence: (\d+) lastOffset: (\d+) offsetDelta: (\d+) timestamp: \d+)?`)
)

func readDump(t *testing.T, name string) dump {
	t.Helper()
	data, err := os.ReadFile(golden + name + "/dump.txt")
	if err != nil {
		t.Fatal(err)
	}
	d := dump{snapshots: map[string][]Entry{}}
	file := ""
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		line := lines.Text()
		if f, ok := strings.CutPrefix(line, "Dumping "); ok {
			if file = f; strings.HasSuffix(file, ".snapshot") {
				d.snapshots[file] = nil
			}
		} else if m := batchLine.FindStringSubmatch(line); m != nil {
			first, last := parse(t, m[1]), parse(t, m[2])
			d.batches = append(d.batches, dumped{control: m[7] == "true", Batch: Batch{
				BaseOffset: model.Offset(first), LastOffsetDelta: int32(last - first),
				BaseSequence: model.Sequence(parse(t, m[3])), ProducerID: model.ProducerID(parse(t, m[4])),
				Epoch: model.ProducerEpoch(parse(t, m[5])), Transactional: m[6] == "true", MaxTimestampMs: parse(t, m[8]),
			}})
		} else if m := markerLine.FindStringSubmatch(line); m != nil {
			b := &d.batches[len(d.batches)-1]
			b.abort, b.coordinatorEpoch = m[1] == "ABORT", model.CoordinatorEpoch(parse(t, m[2]))
		} else if m := abortedLine.FindStringSubmatch(line); m != nil {
			d.aborted = append(d.aborted, Completed{
				ProducerID: model.ProducerID(parse(t, m[1])), FirstOffset: model.Offset(parse(t, m[2])),
				LastOffset: model.Offset(parse(t, m[3])), LastStable: model.Offset(parse(t, m[4])), Aborted: true,
			})
		} else if m := producerLine.FindStringSubmatch(line); m != nil {
			d.snapshots[file] = append(d.snapshots[file], Entry{
				ProducerID: model.ProducerID(parse(t, m[1])), Epoch: model.ProducerEpoch(parse(t, m[2])),
				CoordinatorEpoch: model.CoordinatorEpoch(parse(t, m[3])),
				TxnFirstOffset:   model.Offset(parse(t, cmp.Or(m[4], "-1"))), TimestampMs: parse(t, m[5]),
				LastSequence: model.Sequence(parse(t, cmp.Or(m[6], "-1"))),
				LastOffset:   model.Offset(parse(t, cmp.Or(m[7], "-1"))), OffsetDelta: int32(parse(t, cmp.Or(m[8], "0"))),
			})
		}
	}
	if len(d.batches) == 0 {
		t.Fatalf("no batch in the dump of %s", name)
	}
	return d
}

func wantEntries(t *testing.T, what string, got, want []Entry) {
	t.Helper()
	byID := func(a, b Entry) int { return cmp.Compare(a.ProducerID, b.ProducerID) }
	got, want = slices.Clone(got), slices.Clone(want)
	slices.SortFunc(got, byID)
	slices.SortFunc(want, byID)
	if !slices.Equal(got, want) {
		t.Errorf("%s\n got %+v\nwant %+v", what, got, want)
	}
}

func parse(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func paddedOffset(o model.Offset) string {
	text := strconv.FormatInt(int64(o), 10)
	return strings.Repeat("0", 20-len(text)) + text
}
