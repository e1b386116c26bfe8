package partitionlog

import (
	"math"
	"path/filepath"
	"testing"

	"troupe/internal/model"
	"troupe/internal/vfs"
)

func TestAnIndexIsSearchedInMemoryBySampleAndOnDisk(t *testing.T) {
	const entries = 5 * blockEntries / 2
	for _, c := range []struct {
		name      string
		unwritten int   // entries that stay in memory
		limit     int64 // of the memory for indexes
		reopened  bool
	}{
		{"all in memory", entries, math.MaxInt64, false},
		{"written in blocks, with a sample", 100, math.MaxInt64, false},
		{"written in blocks, without memory for a sample", 100, 0, false},
		{"written, and read by a new process", 0, math.MaxInt64, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := testEnv(vfs.OS())
			env.Index = NewIndexBudget(c.limit)
			dir := &directory{fs: env.FS, path: filepath.Join(t.TempDir(), "t-0")}
			if err := dir.make(); err != nil {
				t.Fatal(err)
			}
			s := newSegment(env, dir, 1000)
			// Entry i is of the batch that ends at 1000+10(i+1) and begins at 100(i+1), with the timestamp 7(i+1).
			for i := range int64(entries) {
				s.index.note(1000+10*model.Offset(i+1), 100*(i+1), 7*(i+1), true)
				if i >= entries-int64(c.unwritten) || s.index.unwritten() < 4096 && i < entries-1-int64(c.unwritten) {
					continue
				}
				b := s.index.block()
				if err := b.write(true); err != nil {
					t.Fatal(err)
				}
				b.written()
			}
			if c.reopened {
				s2 := newSegment(env, dir, 1000)
				s2.index.offsets.onDisk, s2.index.times.onDisk = s.index.offsets.onDisk, s.index.times.onDisk
				s = s2
			}
			x := s.index
			if got := x.offsets.count(); got != entries {
				t.Fatalf("%d entries, want %d", got, entries)
			}
			for i := int64(0); i <= entries; i++ {
				before := min(100*i, 100*entries)
				if pos, err := x.floorOffset(1000 + 10*model.Offset(i)); err != nil || pos != before {
					t.Fatalf("offset of entry %d: position %d, %v; want %d", i, pos, err, before)
				}
				if pos, err := x.floorOffset(1000 + 10*model.Offset(i) + 9); err != nil || pos != before {
					t.Fatalf("offset behind entry %d: position %d, %v; want %d", i, pos, err, before)
				}
				if pos, err := x.floorPos(100*i + 99); err != nil || pos != before {
					t.Fatalf("position behind entry %d: %d, %v; want %d", i, pos, err, before)
				}
				if o, err := x.floorTime(7*i + 6); err != nil || o != 1000+10*model.Offset(i) {
					t.Fatalf("time behind entry %d: offset %d, %v", i, o, err)
				}
			}
			x.release()
			if c.reopened {
				return
			}
			if used := env.Index.Used(); used != 0 {
				t.Errorf("%d bytes are still charged", used)
			}
		})
	}
}

func TestOnlyEntriesThatRiseAreTaken(t *testing.T) {
	all := func([]byte) bool { return true }
	var content []byte
	for i := range int64(10) {
		e := offsetEntry(int32(5*i+4), 100*(i+1))
		content = append(content, e[:offsetEntrySize]...)
	}
	count := func(b []byte) int { return sound(b, offsetEntrySize, keyOffset, keyPos, all) }
	for _, c := range []struct {
		name string
		make func() []byte
		want int
	}{
		{"whole", func() []byte { return content }, 10},
		{"cut within an entry", func() []byte { return content[:79] }, 9},
		{"zeros behind, as Kafka preallocates", func() []byte { return append(append([]byte{}, content...), make([]byte, 800)...) }, 10},
		{"nothing but zeros", func() []byte { return make([]byte, 800) }, 0},
		{"a lost sector in the middle", func() []byte { b := append([]byte{}, content...); clear(b[32:48]); return b }, 4},
		{"an entry again", func() []byte { return append(append([]byte{}, content[:24]...), content[16:]...) }, 3},
	} {
		if got := count(c.make()); got != c.want {
			t.Errorf("%s: %d entries, want %d", c.name, got, c.want)
		}
	}
	short := sound(content, offsetEntrySize, keyOffset, keyPos, func(e []byte) bool { return keyPos(e) < 450 })
	if short != 4 {
		t.Errorf("%d entries within the file, want 4", short)
	}
}

func TestEntriesAreWrittenEarlierWhenMemoryRunsOut(t *testing.T) {
	b := NewIndexBudget(1 << 20)
	for _, c := range []struct{ used, want int }{{0, 4096}, {1 << 19, 4096}, {1<<19 + 1, 512}, {1 << 20, 64}, {1 << 30, 64}} {
		b.charge(c.used - int(b.Used()))
		if got := b.block(); got != c.want {
			t.Errorf("with %d of %d bytes in use blocks have %d bytes, want %d", c.used, 1<<20, got, c.want)
		}
	}
}

func TestEachLogHasAFairShareOfTheDirtyBytes(t *testing.T) {
	b := NewDirtyBudget(100 << 20)
	if b.share() != 100<<20 {
		t.Errorf("alone: %d", b.share())
	}
	for range 10 {
		b.move(0, 1)
	}
	if b.share() != 10<<20 || b.Bytes() != 10 {
		t.Errorf("one of ten: %d", b.share())
	}
	for range 990 {
		b.move(0, 1)
	}
	if b.share() != leastShare {
		t.Errorf("one of a thousand: %d, want the least %d", b.share(), leastShare)
	}
	for range 1000 {
		b.move(1, 0)
	}
	if b.share() != 100<<20 || b.Bytes() != 0 {
		t.Errorf("all clean: %d, %d bytes", b.share(), b.Bytes())
	}
}
