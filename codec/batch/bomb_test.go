package batch_test

import (
	"encoding/binary"
	"errors"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"

	"troupe/codec/batch"
	"troupe/codec/compress"
	"troupe/codec/kerr"
)

// bomb is a batch with one record whose value has n zeros.
func bomb(t *testing.T, codec compress.Codec, n int) batch.View {
	t.Helper()
	head := []byte{0, 0, 0, 1}
	head = binary.AppendVarint(head, int64(n))
	plain := binary.AppendVarint(nil, int64(len(head)+n+1))
	plain = append(append(append(plain, head...), make([]byte, n)...), 0)
	return of(t, codec, 1, plain)
}

// allocated is the bytes that f sets aside, once pools are filled.
func allocated(f func()) uint64 {
	f()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestABombIsWalkedInASmallWindow(t *testing.T) {
	const plain, allowed = 32 << 20, 4 << 20
	for codec := compress.Gzip; codec <= compress.Zstd; codec++ {
		v := bomb(t, codec, plain)
		bytes := allocated(func() {
			if f, err := batch.Validate(v, openRules()); err != nil || f.Count != 1 {
				t.Fatalf("%v: %v", codec, err)
			}
		})
		if bytes > allowed {
			t.Errorf("%v: %d bytes of batch took %d bytes of memory", codec, len(v), bytes)
		}
	}
}

func TestMoreThanMayBeHeldIsRefused(t *testing.T) {
	const held = 128 << 20
	v := of(t, compress.Zstd, 1, binary.AppendVarint(nil, held+1))
	if err := v.Each(func(batch.Record) error { return nil }); !errors.As(err, new(*batch.CorruptError)) {
		t.Errorf("read: %v", err)
	}
	v = of(t, compress.Zstd, 1, make([]byte, held+1))
	if _, err := batch.Recompress(v, compress.None, 0); !errors.Is(err, compress.ErrTooLarge) {
		t.Errorf("recompressed: %v", err)
	}
}

func TestWhatALengthClaimsIsNotSetAside(t *testing.T) {
	const allowed = 1 << 20
	huge := binary.AppendVarint(nil, 1<<30)
	for codec := compress.None; codec <= compress.Zstd; codec++ {
		for name, record := range map[string][]byte{
			"record": huge, "key": append([]byte{40, 0, 0, 0}, huge...), "headers": append([]byte{40, 0, 0, 0, 1, 1}, huge...),
		} {
			v := of(t, codec, 1, record)
			bytes := allocated(func() {
				if err := v.Each(func(batch.Record) error { return nil }); err == nil {
					t.Fatalf("%v: a %s of a gigabyte was taken", codec, name)
				}
				if _, err := batch.Validate(v, openRules()); !errors.Is(err, kerr.InvalidRecord) {
					t.Fatalf("%v: %v", codec, err)
				}
			})
			if bytes > allowed {
				t.Errorf("%v, %s: %d bytes of memory for %d of batch", codec, name, bytes, len(v))
			}
		}
	}
}

func TestUncompressedBatchesAreCheckedWithoutAllocation(t *testing.T) {
	v := kilobyte(t)
	rules := topicRules()
	rules.CompactedTopic = true
	if n := testing.AllocsPerRun(100, func() {
		if _, err := batch.Validate(v, rules); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func kilobyte(tb testing.TB) batch.View {
	tb.Helper()
	v, err := batch.NewBuilder(batch.Options{}).
		Add(batch.Record{Timestamp: nowMs, Key: []byte("key"), Value: make([]byte, 1024)}).Build()
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

func BenchmarkValidateOneRecordOf1KiB(b *testing.B) {
	v, rules := kilobyte(b), topicRules()
	b.ReportAllocs()
	b.SetBytes(int64(len(v)))
	for b.Loop() {
		if _, err := batch.Validate(v, rules); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkValidate64KiB(b *testing.B) {
	for codec := compress.None; codec <= compress.Zstd; codec++ {
		b.Run(codec.String(), func(b *testing.B) {
			builder := batch.NewBuilder(batch.Options{Codec: codec, Level: compress.DefaultLevel(codec)})
			value := []byte("a value that has something of a text, and of numbers: 0123456789 0123456789 0123456789")
			for builder.Size() < 64<<10 {
				value[builder.Count()%len(value)]++
				builder.Add(batch.Record{Timestamp: nowMs, Key: []byte("key"), Value: value})
			}
			size := builder.Size()
			v, err := builder.Build()
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, err := batch.Validate(v, topicRules()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Many producers may send bombs to a topic with a compression.type of its own.
func TestBombsAreRecompressedOneAtATime(t *testing.T) {
	const plain, producers, allowed = 32 << 20, 16, 512 << 20
	v := bomb(t, compress.Zstd, plain)
	defer debug.SetGCPercent(debug.SetGCPercent(20)) // what is measured is what is held, and little that is garbage
	var most atomic.Uint64
	stop, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most.Store(max(most.Load(), m.HeapInuse))
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	var all sync.WaitGroup
	for range producers {
		all.Go(func() {
			if _, err := batch.Recompress(v, compress.LZ4, compress.DefaultLevel(compress.LZ4)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	close(stop)
	<-watched
	if got := most.Load(); got > allowed {
		t.Errorf("%d producers with %d bytes each came to %d MiB", producers, len(v), got>>20)
	}
}
