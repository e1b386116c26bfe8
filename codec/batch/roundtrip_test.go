package batch_test

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"troupe/codec/batch"
	"troupe/codec/compress"
	"troupe/internal/model"
)

func TestWhatIsBuiltIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		codec := compress.Codec(rapid.IntRange(0, 4).Draw(t, "codec"))
		base := model.Offset(rapid.Int64Range(0, math.MaxInt64/2).Draw(t, "base offset"))
		b := batch.NewBuilder(batch.Options{BaseOffset: base, Codec: codec, Level: compress.DefaultLevel(codec)})
		var want []batch.Record
		latest := batch.NoTimestamp
		for i := range rapid.IntRange(1, 20).Draw(t, "records") {
			r := batch.Record{
				Offset: base + model.Offset(i), Timestamp: rapid.Int64Range(-1, 1<<45).Draw(t, "timestamp"), Key: bytesOrNull(t), Value: bytesOrNull(t),
			}
			for range rapid.IntRange(0, 3).Draw(t, "headers") {
				r.Headers = append(r.Headers, batch.Header{Key: rapid.String().Draw(t, "header"), Value: bytesOrNull(t)})
			}
			want = append(want, r)
			latest = max(latest, r.Timestamp)
			b.Add(r)
		}
		v, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		same(t, v, want)
		if v.MaxTimestamp() != latest || v.CheckCRC() != nil {
			t.Fatalf("max timestamp %d, want %d", v.MaxTimestamp(), latest)
		}
		to := compress.Codec(rapid.IntRange(0, 4).Draw(t, "other codec"))
		again, err := batch.Recompress(v, to, compress.DefaultLevel(to))
		if err != nil || again.Codec() != to || again.CheckCRC() != nil {
			t.Fatalf("%v to %v: %v", codec, to, err)
		}
		same(t, again, want)
		again.SetBaseOffset(0)
		if f, err := batch.Validate(again, openRules()); err != nil || int(f.Count) != len(want) || f.MaxTimestamp != latest {
			t.Fatalf("%+v, %v", f, err)
		}
	})
}

func bytesOrNull(t *rapid.T) []byte {
	if rapid.Bool().Draw(t, "null") {
		return nil
	}
	return append([]byte{}, rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "bytes")...)
}

func same(t *rapid.T, v batch.View, want []batch.Record) {
	t.Helper()
	var got []batch.Record
	if err := v.Each(func(r batch.Record) error {
		got = append(got, cloned(r))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("read %+v\nwant %+v", got, want)
	}
}

// kmsg is an independent reading of the same layout.
func TestAnotherDecoderReadsTheRecords(t *testing.T) {
	v, err := batch.NewBuilder(batch.Options{}).
		Add(batch.Record{Timestamp: nowMs, Key: []byte{}, Headers: []batch.Header{{Key: "h", Value: nil}, {Key: "", Value: []byte("x")}}}).
		Add(batch.Record{Timestamp: nowMs - 70, Value: bytes.Repeat([]byte("v"), 200)}).Build()
	if err != nil {
		t.Fatal(err)
	}
	want := []kmsg.Record{
		{Key: []byte{}, Headers: []kmsg.Header{{Key: "h"}, {Key: "", Value: []byte("x")}}},
		{TimestampDelta64: -70, OffsetDelta: 1, Value: bytes.Repeat([]byte("v"), 200)},
	}
	b := v.Payload()
	for i := range want {
		var r kmsg.Record
		// The length in front says where the next record begins: one byte for the first, two for the second.
		size := int(b[0]>>1) + 1
		if b[0] >= 0x80 {
			size = len(b)
		}
		if err := r.ReadFrom(b[:size]); err != nil {
			t.Fatal(err)
		}
		b = b[size:]
		if !bytes.Equal(r.Key, want[i].Key) || (r.Key == nil) != (want[i].Key == nil) || !bytes.Equal(r.Value, want[i].Value) ||
			r.TimestampDelta64 != want[i].TimestampDelta64 || r.OffsetDelta != want[i].OffsetDelta || len(r.Headers) != len(want[i].Headers) {
			t.Errorf("record %d: %+v, want %+v", i, r, want[i])
		}
		for j, h := range r.Headers {
			if h.Key != want[i].Headers[j].Key || !bytes.Equal(h.Value, want[i].Headers[j].Value) {
				t.Errorf("record %d, header %d: %+v", i, j, h)
			}
		}
	}
}

func TestAnErrorOfTheReaderEndsTheWalk(t *testing.T) {
	enough := errors.New("enough")
	for codec := compress.None; codec <= compress.Zstd; codec++ {
		v := of(t, codec, 2, plainRecord(0, 0, nil, 0), plainRecord(0, 1, nil, 0))
		n := 0
		err := v.Each(func(batch.Record) error {
			n++
			return enough
		})
		if err != enough || n != 1 {
			t.Errorf("%v: %v after %d records", codec, err, n)
		}
	}
}
