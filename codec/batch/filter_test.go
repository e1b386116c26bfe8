package batch_test

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"troupe/codec/batch"
	"troupe/codec/compress"
	"troupe/internal/model"
)

func TestWhatAFilterLeavesKeepsOffsetsTimestampsAndHeader(t *testing.T) {
	var f batch.Filter
	rapid.Check(t, func(t *rapid.T) {
		codec := rapid.SampledFrom(codecsOf).Draw(t, "codec")
		b := batch.NewBuilder(batch.Options{Codec: codec, Level: compress.DefaultLevel(codec), BaseOffset: 7,
			Producer: &batch.Producer{ID: 3, Epoch: 2, Sequence: 11}})
		n := rapid.IntRange(1, 20).Draw(t, "records")
		kept := map[model.Offset]bool{}
		for i := range n {
			b.Add(batch.Record{
				Timestamp: rapid.Int64Range(-1, 1<<40).Draw(t, "timestamp"), Key: bytesOrNull(t), Value: bytesOrNull(t),
				Headers: []batch.Header{{Key: "h", Value: []byte{byte(i)}}},
			})
			kept[model.Offset(7+i)] = rapid.Bool().Draw(t, "kept")
		}
		v, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		latest, tombstones := int64(-1), false
		_ = v.Each(func(r batch.Record) error {
			if kept[r.Offset] {
				want = append(want, fmt.Sprintf("%d %d %q %v %q %v %v", r.Offset, r.Timestamp, r.Key, r.Key == nil, r.Value, r.Value == nil, r.Headers))
				latest, tombstones = max(latest, r.Timestamp), tombstones || r.Value == nil
			}
			return nil
		})
		if err := f.Scan(v, func(r *batch.Raw) bool { return kept[r.Offset] }); err != nil {
			t.Fatal(err)
		}
		if f.Kept != len(want) || f.Dropped != n-len(want) || f.Tombstones != tombstones {
			t.Fatalf("kept %d and dropped %d of %d, tombstones %v", f.Kept, f.Dropped, n, f.Tombstones)
		}
		horizon := rapid.SampledFrom([]int64{batch.NoTimestamp, 0, 1 << 41}).Draw(t, "horizon")
		left := f.Emptied()
		if f.Kept > 0 {
			if left, err = f.Result(horizon); err != nil {
				t.Fatal(err)
			}
			if left.MaxTimestamp() != latest || left.DeleteHorizon() != horizon || left.Codec() != codec {
				t.Fatalf("latest %d, want %d; horizon %d, want %d; %v", left.MaxTimestamp(), latest, left.DeleteHorizon(), horizon, left.Codec())
			}
		}
		if err := left.CheckCRC(); err != nil {
			t.Fatal(err)
		}
		if left.BaseOffset() != 7 || left.LastOffset() != v.LastOffset() || left.BaseSequence() != 11 || left.ProducerEpoch() != 2 || int(left.Count()) != len(want) {
			t.Fatalf("the header is %x", left[:batch.HeaderSize])
		}
		var got []string
		if err := left.Each(func(r batch.Record) error {
			got = append(got, fmt.Sprintf("%d %d %q %v %q %v %v", r.Offset, r.Timestamp, r.Key, r.Key == nil, r.Value, r.Value == nil, r.Headers))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("left\n%v, want\n%v", got, want)
		}
	})
}

var codecsOf = []compress.Codec{compress.None, compress.Gzip, compress.Snappy, compress.LZ4, compress.Zstd}

func TestABatchOfWhichAllStaysIsGivenAsItWas(t *testing.T) {
	v, err := batch.NewBuilder(batch.Options{}).Add(batch.Record{Key: []byte("a"), Value: []byte("b")}).Build()
	if err != nil {
		t.Fatal(err)
	}
	var f batch.Filter
	if err := f.Scan(v, func(*batch.Raw) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if left, err := f.Result(batch.NoTimestamp); err != nil || !bytes.Equal(left, v) {
		t.Errorf("left %x, %v", left, err)
	}
}

func TestRecordsThatBreakTheFormatAreNotFiltered(t *testing.T) {
	v, err := batch.NewBuilder(batch.Options{}).Add(batch.Record{Key: []byte("key"), Value: []byte("value")}).Build()
	if err != nil {
		t.Fatal(err)
	}
	var f batch.Filter
	for at := batch.HeaderSize; at < len(v); at++ {
		for _, x := range []byte{0x01, 0x7f, 0x80, 0xff} {
			broken := bytes.Clone(v)
			broken[at] ^= x
			if f.Scan(broken, func(*batch.Raw) bool { return true }) != nil {
				continue
			}
			if _, err := f.Result(1); err != nil {
				t.Errorf("byte %d: scanned, and then %v", at, err)
			}
		}
	}
}
