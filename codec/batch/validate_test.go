package batch_test

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"testing"

	"troupe/codec/batch"
	"troupe/codec/compress"
	"troupe/codec/kerr"
)

const (
	nowMs  = int64(1_700_000_000_000)
	hourMs = int64(3_600_000)
)

// openRules are a topic's defaults: any past, an hour of future.
func openRules() batch.Rules {
	return batch.Rules{ProduceVersion: 9, NowMs: nowMs, BeforeMaxMs: math.MaxInt64, AfterMaxMs: math.MaxInt64}
}

func topicRules() batch.Rules {
	r := openRules()
	r.AfterMaxMs = hourMs
	return r
}

// plainRecord is a record of key k and value v, with what follows its header count.
func plainRecord(timestampDelta, offsetDelta int64, key []byte, headers int64, tail ...byte) []byte {
	b := []byte{0}
	b = binary.AppendVarint(b, timestampDelta)
	b = binary.AppendVarint(b, offsetDelta)
	if key == nil {
		b = binary.AppendVarint(b, -1)
	} else {
		b = append(binary.AppendVarint(b, int64(len(key))), key...)
	}
	b = append(b, 2, 'v')
	b = binary.AppendVarint(b, headers)
	b = append(b, tail...)
	return append(binary.AppendVarint(nil, int64(len(b))), b...)
}

// of makes a batch that claims count records and has the given ones.
func of(t *testing.T, c compress.Codec, count int32, records ...[]byte) batch.View {
	t.Helper()
	v, err := batch.NewBuilder(batch.Options{}).Build()
	if err != nil {
		t.Fatal(err)
	}
	var plain []byte
	for _, r := range records {
		plain = append(plain, r...)
	}
	b, err := compress.Append(v[:batch.HeaderSize:batch.HeaderSize], c, compress.DefaultLevel(c), plain)
	if err != nil {
		t.Fatal(err)
	}
	binary.BigEndian.PutUint16(b[21:], uint16(c))
	binary.BigEndian.PutUint32(b[23:], uint32(count-1))
	binary.BigEndian.PutUint64(b[27:], uint64(nowMs))
	binary.BigEndian.PutUint64(b[35:], uint64(nowMs))
	binary.BigEndian.PutUint32(b[57:], uint32(count))
	return resealed(b)
}

func resealed(b []byte) batch.View {
	binary.BigEndian.PutUint32(b[8:], uint32(len(b)-12))
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// The codes are those that Kafka 4.3.1 answered to the same bytes, uncompressed.
func TestHeadersAreRefusedWithKafkasCodes(t *testing.T) {
	for name, c := range map[string]struct {
		change func(b []byte)
		want   kerr.Code
	}{
		"as it is":                                {func([]byte) {}, kerr.None},
		"base offset 5":                           {func(b []byte) { b[7] = 5 }, kerr.InvalidRecord},
		"base offset -1":                          {func(b []byte) { binary.BigEndian.PutUint64(b, math.MaxUint64) }, kerr.InvalidRecord},
		"codec 5":                                 {func(b []byte) { b[22] = 5 }, kerr.UnknownServerError},
		"codec 7":                                 {func(b []byte) { b[22] = 7 }, kerr.UnknownServerError},
		"LogAppendTime set by the producer":       {func(b []byte) { b[22] |= 0x08 }, kerr.None},
		"control":                                 {func(b []byte) { b[22] |= 0x20 }, kerr.InvalidRecord},
		"delete horizon":                          {func(b []byte) { b[22] |= 0x40 }, kerr.None},
		"attribute without a meaning":             {func(b []byte) { b[21] |= 0x80 }, kerr.None},
		"no records, deltas for 2":                {func(b []byte) { b[60] = 0 }, kerr.InvalidRecord},
		"-1 records":                              {func(b []byte) { binary.BigEndian.PutUint32(b[57:], math.MaxUint32) }, kerr.InvalidRecord},
		"1 record, deltas for 2":                  {func(b []byte) { b[60] = 1 }, kerr.InvalidRecord},
		"3 records, deltas for 2":                 {func(b []byte) { b[60] = 3 }, kerr.InvalidRecord},
		"1 record claimed, 2 there":               {func(b []byte) { b[60], b[26] = 1, 0 }, kerr.InvalidRecord},
		"3 records claimed, 2 there":              {func(b []byte) { b[60], b[26] = 3, 2 }, kerr.InvalidRecord},
		"last offset delta -1":                    {func(b []byte) { binary.BigEndian.PutUint32(b[23:], math.MaxUint32) }, kerr.InvalidRecord},
		"2^31-1 records, deltas to fit":           {func(b []byte) { copy(b[57:], "\x7f\xff\xff\xff"); copy(b[23:], "\x7f\xff\xff\xfe") }, kerr.InvalidRecord},
		"producer id without a sequence":          {func(b []byte) { copy(b[43:], "\x00\x00\x00\x00\x00\x00\x00\x05") }, kerr.InvalidRecord},
		"producer id -2 without a sequence":       {func(b []byte) { b[50] = 0xfe }, kerr.None},
		"max timestamp that no record has":        {func(b []byte) { copy(b[35:], "\x00\x00\x00\x00\x00\x00\x00\x4d") }, kerr.None},
		"timestamps a second before 1970":         {func(b []byte) { binary.BigEndian.PutUint64(b[27:], math.MaxUint64-999) }, kerr.None},
		"timestamps two hours ahead":              {func(b []byte) { binary.BigEndian.PutUint64(b[27:], uint64(nowMs+2*hourMs)) }, kerr.InvalidTimestamp},
		"timestamps an hour ahead to the ms":      {func(b []byte) { binary.BigEndian.PutUint64(b[27:], uint64(nowMs+hourMs)) }, kerr.None},
		"the least timestamp of all, which wraps": {func(b []byte) { copy(b[27:], "\x80\x00\x00\x00\x00\x00\x00\x00") }, kerr.InvalidTimestamp},
	} {
		t.Run(name, func(t *testing.T) {
			v := of(t, compress.None, 2, plainRecord(0, 0, []byte("k"), 0), plainRecord(0, 1, []byte("k"), 0))
			c.change(v)
			_, err := batch.Validate(resealed(v), topicRules())
			if code, _ := kerr.Of(err); code != c.want {
				t.Errorf("%v (%v), want %v", code.Name(), err, c.want.Name())
			}
		})
	}
}

// Kafka looks at records of compressed batches less closely than at others: it takes a record whose length is off by
// one. Those two rows are stricter here.
func TestRecordsAreRefusedWithKafkasCodes(t *testing.T) {
	k := []byte("k")
	good := func() []byte { return plainRecord(0, 0, k, 0) }
	set := func(b []byte, at int, to byte) []byte { b[at] = to; return b }
	for name, c := range map[string]struct {
		count             int32
		records           [][]byte
		plain, compressed kerr.Code
	}{
		"a good record":                {1, [][]byte{good()}, 0, 0},
		"record attributes":            {1, [][]byte{set(good(), 1, 1)}, 0, 0},
		"offset delta 5":               {1, [][]byte{plainRecord(0, 5, k, 0)}, 0, kerr.UnknownServerError},
		"offset deltas that fall":      {2, [][]byte{plainRecord(0, 1, k, 0), plainRecord(0, 0, k, 0)}, 0, kerr.UnknownServerError},
		"offset delta -1":              {1, [][]byte{plainRecord(0, -1, k, 0)}, 0, kerr.UnknownServerError},
		"-1 headers":                   {1, [][]byte{plainRecord(0, 0, k, -1)}, kerr.InvalidRecord, kerr.InvalidRecord},
		"1 header, none there":         {1, [][]byte{plainRecord(0, 0, k, 1)}, kerr.InvalidRecord, kerr.InvalidRecord},
		"2^31-1 headers":               {1, [][]byte{plainRecord(0, 0, k, math.MaxInt32)}, kerr.InvalidRecord, kerr.InvalidRecord},
		"header with a null key":       {1, [][]byte{plainRecord(0, 0, k, 1, 1, 1)}, kerr.InvalidRecord, kerr.InvalidRecord},
		"header with a null value":     {1, [][]byte{plainRecord(0, 0, k, 1, 0, 1)}, 0, 0},
		"bytes after the fields":       {1, [][]byte{plainRecord(0, 0, k, 0, 9)}, kerr.InvalidRecord, kerr.InvalidRecord},
		"length one more":              {1, [][]byte{set(good(), 0, good()[0]+2)}, kerr.InvalidRecord, kerr.InvalidRecord},
		"length one less":              {1, [][]byte{set(good(), 0, good()[0]-2)}, kerr.InvalidRecord, kerr.InvalidRecord},
		"length -1":                    {1, [][]byte{set(good(), 0, 1)}, kerr.InvalidRecord, kerr.InvalidRecord},
		"key of 50 bytes in 7":         {1, [][]byte{set(good(), 4, 100)}, kerr.InvalidRecord, kerr.InvalidRecord},
		"bytes after the last record":  {1, [][]byte{good(), {1, 2, 3}}, kerr.InvalidRecord, kerr.InvalidRecord},
		"fewer records than it claims": {2, [][]byte{good()}, kerr.InvalidRecord, kerr.InvalidRecord},
	} {
		for _, codec := range []compress.Codec{compress.None, compress.Gzip, compress.Snappy, compress.LZ4, compress.Zstd} {
			want := c.plain
			if codec != compress.None {
				want = c.compressed
			}
			_, err := batch.Validate(of(t, codec, c.count, c.records...), topicRules())
			if code, _ := kerr.Of(err); code != want {
				t.Errorf("%s, %v: %v (%v), want %v", name, codec, code.Name(), err, want.Name())
			}
		}
	}
}

func TestRefusedRecordsAreNamed(t *testing.T) {
	k := []byte("k")
	ahead := 2 * hourMs
	compacted := topicRules()
	compacted.CompactedTopic = true
	stamped := topicRules()
	stamped.TimestampType = batch.LogAppendTime
	for name, c := range map[string]struct {
		rules   batch.Rules
		records [][]byte
		want    kerr.Code
		indexes []int32
	}{
		"keyless records on a compacted topic": {
			compacted, [][]byte{plainRecord(0, 0, nil, 0), plainRecord(0, 1, k, 0), plainRecord(0, 2, nil, 0)},
			kerr.InvalidRecord, []int32{0, 2},
		},
		"a keyless one and one from the future": {
			compacted, [][]byte{plainRecord(0, 0, nil, 0), plainRecord(ahead, 1, k, 0)}, kerr.InvalidTimestamp, []int32{0, 1},
		},
		"the refusal comes before the offsets": {
			topicRules(), [][]byte{plainRecord(ahead, 0, k, 0), plainRecord(0, 7, k, 0)}, kerr.InvalidTimestamp, []int32{0},
		},
		"the future is nothing to a topic of LogAppendTime": {
			stamped, [][]byte{plainRecord(ahead, 0, k, 0)}, kerr.None, nil,
		},
	} {
		for _, codec := range []compress.Codec{compress.None, compress.Gzip} {
			_, err := batch.Validate(of(t, codec, int32(len(c.records)), c.records...), c.rules)
			code, _ := kerr.Of(err)
			var refused *batch.RecordsError
			var indexes []int32
			if errors.As(err, &refused) {
				for _, r := range refused.Records {
					indexes = append(indexes, r.Index)
				}
			}
			if code != c.want || !equal(indexes, c.indexes) {
				t.Errorf("%s, %v: %v %v, want %v %v", name, codec, code.Name(), indexes, c.want.Name(), c.indexes)
			}
		}
	}
}

func equal(a, b []int32) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestDamageOnTheWayIsRetriableWhateverItHit(t *testing.T) {
	whole := of(t, compress.None, 1, plainRecord(0, 0, []byte("k"), 0))
	for at := 17; at < len(whole); at++ {
		damaged := append(batch.View{}, whole...)
		damaged[at] ^= 0x01
		if _, err := batch.Validate(damaged, topicRules()); !errors.Is(err, kerr.CorruptMessage) {
			t.Errorf("byte %d: %v, want CORRUPT_MESSAGE", at, err)
		}
	}
}

// Kafka has no code for a block that it cannot decompress: it answers -1.
func TestBlocksThatCannotBeDecompressedAreRefused(t *testing.T) {
	for codec := compress.Gzip; codec <= compress.Zstd; codec++ {
		v := of(t, codec, 1, plainRecord(0, 0, []byte("k"), 0))
		for name, block := range map[string][]byte{
			"garbage": []byte("this is no block of any codec"), "cut": v.Payload()[:len(v.Payload())-1], "empty": {},
			"half": v.Payload()[:len(v.Payload())/2],
		} {
			b := resealed(append(append([]byte{}, v[:batch.HeaderSize]...), block...))
			if codec == compress.Zstd && name == "empty" {
				continue // Kafka's decoder takes it for a block of nothing, and misses the records
			}
			if _, err := batch.Validate(b, topicRules()); !errors.Is(err, kerr.UnknownServerError) {
				t.Errorf("%v %s: %v, want UNKNOWN_SERVER_ERROR", codec, name, err)
			}
		}
	}
}

func TestZstdNeedsAProducerThatKnowsIt(t *testing.T) {
	v := of(t, compress.Zstd, 1, plainRecord(0, 0, []byte("k"), 0))
	rules := topicRules()
	for version, want := range map[int16]kerr.Code{3: kerr.UnsupportedCompressionType, 6: kerr.UnsupportedCompressionType, 7: kerr.None} {
		rules.ProduceVersion = version
		_, err := batch.Validate(v, rules)
		if code, _ := kerr.Of(err); code != want {
			t.Errorf("version %d: %v, want %v", version, code.Name(), want.Name())
		}
	}
}

func TestStampWritesTheTimestampsOfTheTopic(t *testing.T) {
	k := []byte("k")
	made := func() batch.View {
		v := of(t, compress.None, 2, plainRecord(5, 0, k, 0), plainRecord(-3, 1, k, 0))
		binary.BigEndian.PutUint64(v[35:], 77)
		return resealed(v)
	}
	stamp := func(v batch.View, kind batch.TimestampType) (attributes int16, first, last int64) {
		rules := openRules()
		rules.TimestampType, rules.NowMs = kind, nowMs+1000
		facts, err := batch.Validate(v, rules)
		if err != nil {
			t.Fatal(err)
		}
		batch.Stamp(v, rules, facts)
		if err := v.CheckCRC(); err != nil {
			t.Fatal(err)
		}
		all := records(t, v)
		return v.Attributes(), all[0].Timestamp, all[1].Timestamp
	}
	v := made()
	if a, first, last := stamp(v, batch.CreateTime); a != 0 || first != nowMs+5 || last != nowMs-3 || v.MaxTimestamp() != nowMs+5 {
		t.Errorf("CreateTime: %#x %d %d, max %d", a, first-nowMs, last-nowMs, v.MaxTimestamp()-nowMs)
	}
	v = made()
	if a, first, last := stamp(v, batch.LogAppendTime); a != 8 || first != nowMs+1000 || last != first || v.MaxTimestamp() != first {
		t.Errorf("LogAppendTime: %#x %d %d", a, first-nowMs, last-nowMs)
	}
	// A producer's own LogAppendTime is undone; its max timestamp counts for every record (measured).
	v = made()
	v[22] |= 8
	v = resealed(v)
	if a, _, _ := stamp(v, batch.CreateTime); a != 0 || v.MaxTimestamp() != 77 {
		t.Errorf("undone LogAppendTime: %#x, max %d", a, v.MaxTimestamp())
	}
}
