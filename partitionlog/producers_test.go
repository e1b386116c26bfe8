package partitionlog

import (
	"errors"
	"testing"

	"troupe/codec/batch"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// sequenced makes a batch of one record of an idempotent producer.
func sequenced(id model.ProducerID, epoch model.ProducerEpoch, seq model.Sequence) batch.View {
	v, err := batch.NewBuilder(batch.Options{Producer: &batch.Producer{ID: id, Epoch: epoch, Sequence: seq}}).
		Add(batch.Record{Timestamp: int64(seq), Value: []byte("v")}).Build()
	if err != nil {
		panic(err)
	}
	return v
}

func TestFiveBatchesAreKnownForDuplicatesAfterEveryKindOfRestart(t *testing.T) {
	small := testConfig()
	small.SegmentBytes = 3 * int64(len(sequenced(1, 0, 0)))
	for _, c := range []struct {
		name  string
		cfg   Config
		clean bool
		noise int // batches of others behind the five
	}{
		{"a clean stop", testConfig(), true, 0},
		{"a kill", testConfig(), false, 0},
		{"a clean stop right after a roll", small, true, 0},
		{"a kill right after a roll", small, false, 0},
		{"a clean stop behind much else", testConfig(), true, 900},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, env, dir := newLogOnDisk(t, c.cfg)
			for seq := range model.Sequence(9) {
				appendAll(t, l, StageOptions{}, sequenced(1, 0, seq))
				background(t, l, 1)
			}
			for range c.noise {
				appendAll(t, l, StageOptions{}, at(0))
			}
			end := l.LogEnd()
			if c.clean {
				finish(t, l)
			} else {
				l.Abandon()
			}
			l, _, err := Open(env, dir, testPartition, c.cfg, OpenParams{Clean: c.clean, RecoveryPoint: end})
			if err != nil {
				t.Fatal(err)
			}
			for seq := model.Sequence(4); seq < 9; seq++ {
				s, j, err := l.Stage(sequenced(1, 0, seq), StageOptions{})
				if err != nil || j != nil || !s.Duplicate || s.BaseOffset != model.Offset(seq) || s.LastOffset != model.Offset(seq) {
					t.Errorf("sequence %d: %+v, %v", seq, s, err)
				}
			}
			if _, _, err := l.Stage(sequenced(1, 0, 3), StageOptions{}); !errors.Is(err, kerr.OutOfOrderSequenceNumber) {
				t.Errorf("the sixth batch back: %v", err)
			}
			if s, _, err := l.Stage(sequenced(1, 0, 9), StageOptions{}); err != nil || s.BaseOffset != end {
				t.Errorf("the next batch: %+v, %v", s, err)
			}
		})
	}
}
