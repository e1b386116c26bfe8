package partitionlog

import (
	"fmt"
	"testing"

	"troupe/internal/model"
)

func TestASegmentIsRolledBySizeAgeIndexAndOffsets(t *testing.T) {
	size := int64(len(at(0)))
	for _, c := range []struct {
		name   string
		change func(*Config)
		times  []int64
		want   string
	}{
		{"two batches fit", func(c *Config) { c.SegmentBytes = 2 * size }, []int64{0, 0, 0, 0, 0}, "[0 2 4]"},
		{"older than segment.ms by the first batch", func(c *Config) { c.SegmentMs = 100 }, []int64{1000, 1100, 1101, 1201, 1202}, "[0 2 4]"},
		{"records without timestamps age by the clock", func(c *Config) { c.SegmentMs = 100 }, []int64{-1, -1, -1}, "[0]"},
		{"the offset index is full", func(c *Config) { c.IndexBytes, c.IndexIntervalBytes = 36, 0 }, []int64{5, 5, 5, 5, 5, 5, 5}, "[0 5]"},
		{"the time index keeps room for one entry", func(c *Config) { c.IndexBytes, c.IndexIntervalBytes = 36, 0 }, []int64{1, 2, 3, 4, 5}, "[0 3]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := testConfig()
			c.change(&cfg)
			l, _, _ := newLogOnDisk(t, cfg)
			for _, ms := range c.times {
				appendAll(t, l, StageOptions{NowMs: 1}, at(ms))
			}
			if got := fmt.Sprint(bases(l)); got != c.want {
				t.Errorf("segments at %s, want %s", got, c.want)
			}
		})
	}
	t.Run("a follower's offsets go too far", func(t *testing.T) {
		l, env, dir := newLogOnDisk(t, testConfig())
		for _, o := range []model.Offset{0, 1<<31 - 1, 1 << 31, 1 << 33} {
			v := at(0)
			v.SetBaseOffset(o)
			appendAll(t, l, StageOptions{Origin: FromLeader}, v)
		}
		if got, want := fmt.Sprint(bases(l)), fmt.Sprint([]int64{0, 1 << 31, 1 << 33}); got != want {
			t.Errorf("segments at %s, want %s", got, want)
		}
		background(t, l, 1)
		l, _, err := Open(env, dir, testPartition, testConfig(), OpenParams{})
		if err != nil || l.LogEnd() != 1<<33+1 {
			t.Errorf("opened, the log ends at %d, %v", l.LogEnd(), err)
		}
	})
}

func TestJitterRollsEarlierAndTheSameWayEachTime(t *testing.T) {
	cfg := testConfig()
	cfg.SegmentMs, cfg.SegmentJitterMs = 1000, 900
	seen := map[int64]bool{}
	for p := range int32(50) {
		tp := model.TopicPartition{Topic: "t", Partition: p}
		j := jitter(cfg, tp, 0)
		if j < 0 || j >= 900 || j != jitter(cfg, tp, 0) {
			t.Fatalf("jitter %d", j)
		}
		seen[j] = true
	}
	if len(seen) < 30 {
		t.Errorf("only %d different values", len(seen))
	}
}
