package batch_test

import (
	"errors"
	"testing"

	"troupe/codec/batch"
	"troupe/codec/compress"
	"troupe/codec/kerr"
)

// Whatever the bytes, reading them ends, with the errors that are promised; and what Validate passes can be read.
func FuzzBatch(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		v, rest, err := batch.First(b)
		if err != nil {
			if !errors.Is(err, batch.ErrIncomplete) && !errors.Is(err, batch.ErrOldMagic) && !errors.As(err, new(*batch.CorruptError)) {
				t.Fatal(err)
			}
			return
		}
		if len(v)+len(rest) != len(b) {
			t.Fatalf("%d and %d of %d bytes", len(v), len(rest), len(b))
		}
		// A fuzzer does not find checksums, and a client may send any bytes under a right one.
		v = resealed(append([]byte{}, v...))
		facts, invalid := batch.Validate(v, openRules())
		if invalid != nil {
			if code, _ := kerr.Of(invalid); code == kerr.None {
				t.Fatalf("an error without a code: %v", invalid)
			}
		}
		n := int32(0)
		read := v.Each(func(batch.Record) error {
			n++
			return nil
		})
		if read != nil && !errors.As(read, new(*batch.CorruptError)) {
			t.Fatal(read)
		}
		if invalid == nil {
			if read != nil || n != facts.Count {
				t.Fatalf("valid with %d records, but %d could be read: %v", facts.Count, n, read)
			}
			recompressed(t, v, n)
		}
	})
}

func recompressed(t *testing.T, v batch.View, want int32) {
	t.Helper()
	for codec := compress.None; codec <= compress.Zstd; codec++ {
		again, err := batch.Recompress(v, codec, compress.DefaultLevel(codec))
		if err != nil {
			t.Fatal(err)
		}
		if f, err := batch.Validate(again, openRules()); err != nil && v.Codec() != compress.None || err == nil && f.Count != want {
			t.Fatalf("%v as %v: %d records, %v", v.Codec(), codec, f.Count, err)
		}
	}
}

func FuzzControl(f *testing.F) {
	f.Fuzz(func(t *testing.T, key, value []byte) {
		r, err := batch.ParseControl(key, value)
		if err != nil {
			return
		}
		written := r.AppendValue(nil)
		again, err := batch.ParseControl(key, written)
		if err != nil || string(again.AppendValue(nil)) != string(written) || again.ControlType() != r.ControlType() {
			t.Fatalf("%+v written and read is %+v, %v", r, again, err)
		}
	})
}
