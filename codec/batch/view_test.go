package batch_test

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/batch"
	"troupe/codec/compress"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

func TestFirstTellsWhatIsNoBatch(t *testing.T) {
	good := of(t, compress.None, 1, plainRecord(0, 0, []byte("k"), 0))
	length := func(n int32) []byte {
		b := append([]byte{}, good...)
		binary.BigEndian.PutUint32(b[8:], uint32(n))
		return b
	}
	magic := func(m byte) []byte {
		b := append([]byte{}, good...)
		b[16] = m
		return b
	}
	for name, c := range map[string]struct {
		b       []byte
		want    error
		corrupt bool
		// produced is what Kafka 4.3.1 answered to a Produce request with these bytes.
		produced kerr.Code
	}{
		"a batch":                        {good, nil, false, kerr.None},
		"nothing":                        {nil, batch.ErrIncomplete, false, kerr.InvalidRecord},
		"16 bytes":                       {good[:16], batch.ErrIncomplete, false, kerr.InvalidRecord},
		"17 bytes":                       {good[:17], batch.ErrIncomplete, false, kerr.InvalidRecord},
		"a header":                       {good[:61], batch.ErrIncomplete, false, kerr.InvalidRecord},
		"all but the last byte":          {good[:len(good)-1], batch.ErrIncomplete, false, kerr.InvalidRecord},
		"length 0":                       {length(0), nil, true, kerr.CorruptMessage},
		"length -1":                      {length(-1), nil, true, kerr.CorruptMessage},
		"length 13":                      {length(13), nil, true, kerr.CorruptMessage},
		"length 48, less than a header":  {length(48)[:60], nil, true, kerr.CorruptMessage},
		"magic 0":                        {magic(0), batch.ErrOldMagic, false, kerr.InvalidRecord},
		"magic 1":                        {magic(1), batch.ErrOldMagic, false, kerr.InvalidRecord},
		"magic 3":                        {magic(3), nil, true, kerr.CorruptMessage},
		"magic 255":                      {magic(255), nil, true, kerr.CorruptMessage},
		"two batches":                    {append(append([]byte{}, good...), good...), nil, false, kerr.InvalidRecord},
		"a batch and five bytes":         {append(append([]byte{}, good...), 1, 2, 3, 4, 5), nil, false, kerr.None},
		"a batch and forty zeros":        {append(append([]byte{}, good...), make([]byte, 40)...), nil, false, kerr.CorruptMessage},
		"a batch and the half of one":    {append(append([]byte{}, good...), good[:40]...), nil, false, kerr.None},
		"a batch and an old message set": {append(append([]byte{}, good...), magic(1)...), nil, false, kerr.InvalidRecord},
	} {
		t.Run(name, func(t *testing.T) {
			v, rest, err := batch.First(c.b)
			if corrupt := errors.As(err, new(*batch.CorruptError)); corrupt != c.corrupt || !corrupt && !errors.Is(err, c.want) {
				t.Fatalf("%v", err)
			}
			if err == nil && (string(v) != string(good) || len(rest) != len(c.b)-len(good)) {
				t.Fatalf("took %d bytes, left %d", len(v), len(rest))
			}
			if _, err := batch.Produced(c.b); !is(err, c.produced) {
				t.Fatalf("produced: %v, want %v", err, c.produced.Name())
			}
		})
	}
}

func is(err error, code kerr.Code) bool {
	got, _ := kerr.Of(err)
	return got == code
}

func TestAppendToAViewCannotReachTheNextBatch(t *testing.T) {
	good := of(t, compress.None, 1, plainRecord(0, 0, []byte("k"), 0))
	both := append(append([]byte{}, good...), good...)
	v, rest, err := batch.First(both)
	if err != nil {
		t.Fatal(err)
	}
	_ = append(v, 0xff)
	if string(rest) != string(good) {
		t.Fatal("the next batch changed")
	}
}

// kmsg is an independent reading of the same layout.
func TestFieldsAreWhereAnotherDecoderFindsThem(t *testing.T) {
	made, err := batch.NewBuilder(batch.Options{
		BaseOffset: 1 << 40, LeaderEpoch: 77, Codec: compress.LZ4, Level: compress.DefaultLevel(compress.LZ4), Transactional: true,
		Control: true, Producer: &batch.Producer{ID: 1 << 50, Epoch: 300, Sequence: math.MaxInt32},
	}).Add(batch.Record{Timestamp: nowMs, Key: []byte("a")}).Add(batch.Record{Timestamp: nowMs + 9, Value: []byte("b")}).Build()
	if err != nil {
		t.Fatal(err)
	}
	var other kmsg.RecordBatch
	if err := other.ReadFrom(made); err != nil {
		t.Fatal(err)
	}
	want := kmsg.RecordBatch{
		FirstOffset: 1 << 40, Length: int32(len(made) - 12), PartitionLeaderEpoch: 77, Magic: 2, CRC: int32(made.CRC()),
		Attributes: 0x33, LastOffsetDelta: 1, FirstTimestamp: nowMs, MaxTimestamp: nowMs + 9, ProducerID: 1 << 50, ProducerEpoch: 300,
		FirstSequence: math.MaxInt32, NumRecords: 2, Records: made.Payload(),
	}
	if string(other.AppendTo(nil)) != string(want.AppendTo(nil)) {
		t.Errorf("kmsg reads %+v\nwant %+v", other, want)
	}
	got := kmsg.RecordBatch{
		FirstOffset: int64(made.BaseOffset()), Length: int32(len(made) - 12), PartitionLeaderEpoch: int32(made.LeaderEpoch()), Magic: 2,
		CRC: int32(made.CRC()), Attributes: made.Attributes(), LastOffsetDelta: made.LastOffsetDelta(),
		FirstTimestamp: made.BaseTimestamp(), MaxTimestamp: made.MaxTimestamp(), ProducerID: int64(made.ProducerID()),
		ProducerEpoch: int16(made.ProducerEpoch()), FirstSequence: int32(made.BaseSequence()), NumRecords: made.Count(), Records: made.Payload(),
	}
	if string(got.AppendTo(nil)) != string(made) {
		t.Errorf("the accessors read %+v", got)
	}
	if !made.Transactional() || !made.Control() || made.LogAppendTime() || made.HasDeleteHorizon() || made.Codec() != compress.LZ4 {
		t.Errorf("flags of %#x", made.Attributes())
	}
	if made.LastOffset() != 1<<40+1 || made.NextOffset() != 1<<40+2 {
		t.Errorf("ends at %d, next %d", made.LastOffset(), made.NextOffset())
	}
}

func TestSequencesWrapToZero(t *testing.T) {
	for _, c := range []struct {
		first model.Sequence
		count int32
		want  model.Sequence
	}{
		{0, 1, 0}, {7, 3, 9}, {math.MaxInt32, 1, math.MaxInt32}, {math.MaxInt32, 2, 0}, {math.MaxInt32 - 1, 5, 2}, {-1, 4, -1},
	} {
		b := batch.NewBuilder(batch.Options{Producer: &batch.Producer{ID: 1, Sequence: c.first}})
		for range c.count {
			b.Add(batch.Record{})
		}
		v, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		if got := v.LastSequence(); got != c.want {
			t.Errorf("%d records from %d end at %d, want %d", c.count, c.first, got, c.want)
		}
	}
}

func TestOffsetAndEpochAreOutsideTheChecksum(t *testing.T) {
	v := of(t, compress.None, 1, plainRecord(0, 0, []byte("k"), 0))
	v.SetBaseOffset(1 << 40)
	v.SetLeaderEpoch(9)
	if err := v.CheckCRC(); err != nil || v.BaseOffset() != 1<<40 || v.LeaderEpoch() != 9 {
		t.Fatalf("%v, offset %d, epoch %d", err, v.BaseOffset(), v.LeaderEpoch())
	}
	v.SetMaxTimestamp(nowMs + 1)
	if err := v.CheckCRC(); err != nil || v.MaxTimestamp() != nowMs+1 {
		t.Fatalf("%v, max timestamp %d", err, v.MaxTimestamp())
	}
	v[len(v)-1]++
	var corrupt *batch.CorruptError
	if err := v.CheckCRC(); !errors.As(err, &corrupt) || corrupt.Offset != 1<<40 {
		t.Fatalf("a changed byte: %v", err)
	}
}
