package partitionlog

import (
	"flag"
	"fmt"
	"testing"

	"troupe/internal/model"
)

// cuts is how often the power fails: `go test ./partitionlog -run PowerCut -args -cuts 10000`.
var cuts = flag.Int("cuts", 800, "power cuts")

func TestAfterAnyPowerCutTheLogIsWhatWasSyncedAndAPrefixOfTheRest(t *testing.T) {
	for seed := range uint64(*cuts / 4) {
		ok := t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWorld(t, seed)
			for range 4 {
				w.fs.CutAfter(1 + w.random.IntN(120))
				w.live()
				w.crash()
			}
		})
		if !ok {
			return
		}
	}
}

func TestAKilledProcessLosesNothingThatWasWritten(t *testing.T) {
	for seed := range uint64(60) {
		w := newWorld(t, seed)
		for range 60 {
			w.step()
		}
		written := w.log.LogEnd()
		// The operating system goes on: what was written is there, synced or not.
		l, report, err := Open(testEnv(w.fs), worldDir, testPartition, w.cfg, OpenParams{
			RecoveryPoint: w.recoveryPoint, HighWatermark: w.log.HighWatermark(), LogStart: w.log.LogStart(), TopicID: testTopic,
		})
		w.check(err)
		if l.LogEnd() != written || report.Reason != nil {
			t.Fatalf("seed %d: the log ends at %d, %d was written: %+v", seed, l.LogEnd(), written, report)
		}
		w.log = l
		w.verify()
	}
}

func TestAfterAnyKillTheLogIsWhatWasWrittenAndPowerCutsThereafterTakeOnlyWhatWasNotSynced(t *testing.T) {
	for seed := range uint64(*cuts / 4) {
		ok := t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWorld(t, seed)
			for range 6 {
				again := w.restart
				if w.random.IntN(4) == 0 {
					w.fs.CutAfter(1 + w.random.IntN(120))
					again = w.crash
				} else {
					w.killAfter(1 + w.random.IntN(120))
				}
				w.live()
				again()
			}
		})
		if !ok {
			return
		}
	}
}

func TestACleanStopIsReadBackWithoutAScan(t *testing.T) {
	for seed := range uint64(60) {
		w := newWorld(t, seed)
		for range 60 {
			w.step()
		}
		w.drain()
		end, start := w.log.LogEnd(), w.log.LogStart()
		w.close()
		if seed%4 > 1 {
			w.fs.Crash() // a clean stop is safe from a power cut too
		}
		l, report, err := Open(testEnv(w.fs), worldDir, testPartition, w.cfg, OpenParams{
			RecoveryPoint: end, HighWatermark: end, LogStart: start, Clean: true, TopicID: testTopic,
		})
		w.check(err)
		if l.LogEnd() != end || report != (Recovery{}) {
			t.Fatalf("seed %d: opened at %d with %+v, closed at %d", seed, l.LogEnd(), report, end)
		}
		w.log = l
		w.verify()
	}
}

func TestBatchesThatAreSyncedOneByOneSurviveEveryCut(t *testing.T) {
	for cut := 1; cut < 150; cut++ {
		w := newWorld(t, 7)
		w.fs.CutAfter(cut)
		var acknowledged model.Offset
		for {
			w.stage()
			if !w.runAppends(1) {
				break
			}
			j := w.log.Flush()
			if !w.run(j) {
				break
			}
			acknowledged = w.log.LogEnd()
			w.others = append(w.others, w.log.Background(w.nowMs)...)
			if !w.runOther() {
				break
			}
		}
		w.synced = acknowledged
		w.crash()
	}
}

func TestALogThatIsCutBackToItsStartNeverBeginsAnew(t *testing.T) {
	for cut := 1; cut < 30; cut++ {
		fsys := newCrashFS(t)
		cfg := testConfig()
		cfg.SegmentBytes = 400
		l := New(testEnv(fsys), "/data/t-0", testPartition, cfg, testTopic)
		appendAll(t, l, StageOptions{}, sized(300, -1), sized(300, -1), sized(300, -1))
		background(t, l, 1)
		if err := l.DeleteRecordsTo(1); err != nil {
			t.Fatal(err)
		}
		expired := l.Retention(1)
		l.Done(expired, expired.Run())
		flush := l.Flush()
		l.Done(flush, flush.Run())
		fsys.CutAfter(cut)
		j := l.TruncateTo(1)
		l.Done(j, j.Run())
		fsys.Crash()
		l, report, err := Open(testEnv(fsys), "/data/t-0", testPartition, cfg, OpenParams{RecoveryPoint: 1, TopicID: testTopic})
		if err != nil || l.LogStart() != 1 || l.LogEnd() < 1 {
			t.Fatalf("cut %d: the log is [%d, %d): %+v, %v", cut, l.LogStart(), l.LogEnd(), report, err)
		}
	}
}
