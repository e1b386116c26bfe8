package producer

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"troupe/internal/model"
)

func sample() []byte {
	return AppendSnapshot(nil, []Entry{
		{ProducerID: 1, LastSequence: 4, LastOffset: 10, OffsetDelta: 2, TimestampMs: 5, CoordinatorEpoch: -1, TxnFirstOffset: -1},
		{ProducerID: 2, Epoch: 3, LastSequence: NoSequence, LastOffset: model.NoOffset, TimestampMs: 6, TxnFirstOffset: 7},
	})
}

// resealed gives changed content its right checksum, so that the fault behind it is met.
func resealed(b []byte) []byte {
	binary.BigEndian.PutUint32(b[2:], crc32.Checksum(b[6:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

func TestADamagedSnapshotIsRefusedWithThePlaceOfTheDamage(t *testing.T) {
	for _, c := range []struct {
		title  string
		damage func(b []byte) []byte
		offset int64
	}{
		{"no byte at all", func(b []byte) []byte { return nil }, 0},
		{"cut within the header", func(b []byte) []byte { return b[:9] }, 9},
		{"version 2", func(b []byte) []byte { b[1] = 2; return b }, 0},
		{"a bit of an entry flipped", func(b []byte) []byte { b[20] ^= 1; return b }, 2},
		{"cut within an entry", func(b []byte) []byte { return b[:len(b)-1] }, 2},
		{"cut within an entry, with a checksum that fits", func(b []byte) []byte { return resealed(b[:len(b)-1]) }, 6},
		{"a count of 2^32-1", func(b []byte) []byte { copy(b[6:], "\xff\xff\xff\xff"); return resealed(b) }, 6},
		{"bytes after the last entry", func(b []byte) []byte { return resealed(append(b, 0)) }, 6},
		{"a producer twice", func(b []byte) []byte { copy(b[56:64], b[10:18]); return resealed(b) }, 56},
		{"a negative offset delta", func(b []byte) []byte { b[10+22] = 0x80; return resealed(b) }, 32},
	} {
		t.Run(c.title, func(t *testing.T) {
			_, err := DecodeSnapshot(c.damage(sample()))
			var damage *SnapshotError
			if !errors.As(err, &damage) || damage.Offset != c.offset {
				t.Errorf("error %v, want one at byte %d", err, c.offset)
			}
		})
	}
}

func FuzzDecodeSnapshot(f *testing.F) {
	f.Add(sample())
	f.Add([]byte{})
	files, err := filepath.Glob(golden + "transactional*/*/*.snapshot")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		// Nearly no mutation keeps the checksum right, so it is put right where that can be done.
		if len(b) >= snapshotHeaderSize {
			b = resealed(slices.Clone(b))
		}
		entries, err := DecodeSnapshot(b)
		if err != nil {
			return
		}
		if again := AppendSnapshot(nil, entries); !slices.Equal(again, b) {
			t.Fatalf("written again it differs:\n got %x\nwant %x", again, b)
		}
		var s State
		s.Restore(entries)
		if s.Len() != len(entries) {
			t.Fatalf("%d producers of %d entries", s.Len(), len(entries))
		}
	})
}
