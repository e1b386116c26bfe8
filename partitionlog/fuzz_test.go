package partitionlog

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"troupe/codec/batch"
	"troupe/internal/clock"
	"troupe/internal/model"
	"troupe/internal/vfs"
)

// FuzzOpen opens a directory of two segments whose files hold anything. What it then shows is readable, batch by batch,
// and takes another append.
func FuzzOpen(f *testing.F) {
	for _, dir := range []string{"plain/plain-0", "transactional/transactional-0", "idempotent/idempotent-0"} {
		var files [5][]byte
		for i, s := range fuzzedSuffixes {
			names, _ := filepath.Glob("testdata/kafka/" + dir + "/*" + string(s))
			if len(names) > 0 {
				files[i], _ = os.ReadFile(names[len(names)-1])
			}
		}
		f.Add(files[0], files[1], files[2], files[3], files[4], []byte("0\n1\n0 0\n"), false, int64(2))
		f.Add(files[0], files[1], files[2], files[3], files[4], []byte{}, true, int64(0))
	}
	f.Fuzz(func(t *testing.T, log, index, times, txns, snapshot, epochs []byte, clean bool, recoveryPoint int64) {
		fsys := vfs.NewCrashFS(1, clock.NewManual(time.Unix(1, 0)))
		if err := fsys.MkdirAll(worldDir, 0); err != nil {
			t.Fatal(err)
		}
		put := func(name string, data []byte) {
			file, err := fsys.Open(filepath.Join(worldDir, name), os.O_RDWR|os.O_CREATE, 0)
			if err == nil {
				_, err = file.WriteAt(data, 0)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for i, data := range [][]byte{log, index, times, txns, snapshot} {
			put(fileID{offset: 0, suffix: fuzzedSuffixes[i]}.String(), data)
			put(fileID{offset: 8, suffix: fuzzedSuffixes[i]}.String(), data)
		}
		put("leader-epoch-checkpoint", epochs)
		l, _, err := Open(testEnv(fsys), worldDir, testPartition, testConfig(), OpenParams{
			Clean: clean, RecoveryPoint: model.Offset(recoveryPoint), LogStart: 1,
		})
		if err != nil {
			return
		}
		checkReadable(t, l, clean)
		_, j, err := l.Stage(at(1), StageOptions{})
		if err != nil {
			t.Fatal(err)
		}
		l.Done(j, j.Run())
		if l.Err() != nil {
			t.Fatal(l.Err())
		}
		finish(t, l)
	})
}

var fuzzedSuffixes = [5]suffix{suffixLog, suffixIndex, suffixTimeIndex, suffixTxnIndex, suffixSnapshot}

// checkReadable walks over the log. Damage that a clean stop vouched for may be met, but only as what it is.
func checkReadable(t *testing.T, l *Log, clean bool) {
	t.Helper()
	v := l.View()
	for from := v.LogStart; from < v.LogEnd; {
		r, err := v.Read(from, v.LogEnd, 100, true)
		var damaged *CorruptionError
		if errors.As(err, &damaged) && clean {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if r.Len == 0 {
			return // a gap at the end of the last segment
		}
		b := make([]byte, r.Len)
		if err := readFull(r.File, b, r.Pos); err != nil {
			t.Fatal(err)
		}
		r.Release()
		first, _, err := batch.First(b)
		if err != nil {
			t.Fatal(err)
		}
		from = max(from, first.NextOffset())
	}
}
