package compress_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"troupe/codec/compress"
)

var codecs = []compress.Codec{compress.None, compress.Gzip, compress.Snappy, compress.LZ4, compress.Zstd}

// text is n bytes that compress somewhat, as records do.
func text(n int) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = "abcdefgh"[random.IntN(8)]
	}
	return b
}

func TestWhatIsCompressedComesBack(t *testing.T) {
	levels := map[compress.Codec][]int{
		compress.None: {0}, compress.Gzip: {-1, 1, 9}, compress.Snappy: {0}, compress.LZ4: {1, 9, 17}, compress.Zstd: {-131072, 3, 22},
	}
	for _, c := range codecs {
		for _, level := range levels[c] {
			for _, n := range []int{0, 1, 100, 32 << 10, 32<<10 + 1, 150_000, 2 << 20} {
				if n > 1<<20 && level != compress.DefaultLevel(c) {
					continue
				}
				plain := text(n)
				block, err := compress.Append([]byte("before"), c, level, plain)
				if err != nil || !bytes.HasPrefix(block, []byte("before")) {
					t.Fatalf("%v level %d, %d bytes: %v", c, level, n, err)
				}
				back, err := compress.Decompress([]byte("kept"), c, block[len("before"):], n)
				if err != nil || !bytes.Equal(back, append([]byte("kept"), plain...)) {
					t.Fatalf("%v level %d, %d bytes: %d came back, %v", c, level, n, len(back)-4, err)
				}
			}
		}
	}
}

func TestLevelsThatDoNotExistAreRefused(t *testing.T) {
	for c, bad := range map[compress.Codec][]int{
		compress.Gzip: {0, 10, -2}, compress.LZ4: {0, 18, -1}, compress.Zstd: {23, -131073},
	} {
		for _, level := range bad {
			if _, err := compress.Append(nil, c, level, nil); err == nil {
				t.Errorf("%v took level %d", c, level)
			}
		}
		if err := compress.CheckLevel(c, compress.DefaultLevel(c)); err != nil {
			t.Error(err)
		}
	}
	if _, err := compress.Append(nil, 5, 0, nil); err == nil {
		t.Error("codec 5 compressed something")
	}
}

func TestCodecsHaveKafkasNumbersAndNames(t *testing.T) {
	for number, name := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		if c := compress.Codec(number); !c.Valid() || c.String() != name {
			t.Errorf("codec %d is %s, want %s", number, c, name)
		}
	}
	if compress.Codec(5).Valid() {
		t.Error("there is a sixth codec")
	}
}

// Some clients write snappy without the framing of snappy-java.
func TestBareSnappyIsRead(t *testing.T) {
	plain := text(100_000)
	got, err := compress.Decompress(nil, compress.Snappy, snappy.Encode(nil, plain), len(plain))
	if err != nil || !bytes.Equal(got, plain) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
}

func TestOutputBeyondTheLimitIsRefused(t *testing.T) {
	for _, c := range codecs {
		block, err := compress.Append(nil, c, compress.DefaultLevel(c), text(100_001))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := compress.Decompress(nil, c, block, 100_000); !errors.Is(err, compress.ErrTooLarge) {
			t.Errorf("%v: %v", c, err)
		}
	}
}

func TestWhatIsNoBlockIsCorrupt(t *testing.T) {
	for _, c := range codecs[1:] {
		block, err := compress.Append(nil, c, compress.DefaultLevel(c), text(5000))
		if err != nil {
			t.Fatal(err)
		}
		for name, b := range map[string][]byte{
			"nothing": {}, "garbage": []byte("this is no block of any codec"), "half a block": block[:len(block)/2], "all but a byte": block[:len(block)-1],
		} {
			_, err := compress.Decompress(nil, c, b, 1<<20)
			var corrupt *compress.CorruptError
			if !errors.As(err, &corrupt) || corrupt.Codec != c {
				t.Errorf("%v, %s: %v", c, name, err)
			}
		}
	}
	if _, err := compress.Open(6, nil); !errors.As(err, new(*compress.CorruptError)) {
		t.Errorf("codec 6: %v", err)
	}
}

// Kafka's LZ4 reader takes neither; a batch of that kind would stop every Java consumer of the partition.
func TestLZ4FramesThatKafkaCannotReadAreRefused(t *testing.T) {
	var legacy bytes.Buffer
	w := lz4.NewWriter(&legacy)
	if err := w.Apply(lz4.LegacyOption(true)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(text(1000)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	dependent, err := compress.Append(nil, compress.LZ4, compress.DefaultLevel(compress.LZ4), text(1000))
	if err != nil {
		t.Fatal(err)
	}
	dependent[4] &^= 0x20
	for name, b := range map[string][]byte{"legacy": legacy.Bytes(), "dependent blocks": dependent} {
		if _, err := compress.Decompress(nil, compress.LZ4, b, 1<<20); !errors.As(err, new(*compress.CorruptError)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestClaimsOfABlockAreNotSetAside(t *testing.T) {
	const allowed = 4 << 20
	gigabyte := binary.AppendUvarint(nil, 1<<30)
	xerial := append([]byte("\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"), 0x7f, 0xff, 0xff, 0xff)
	for name, c := range map[string]struct {
		codec compress.Codec
		block []byte
	}{
		"snappy of a gigabyte":     {compress.Snappy, append(gigabyte, 0, 'x')},
		"a chunk of two gigabytes": {compress.Snappy, append(xerial, 0, 'x')},
		// Frame header descriptor 0xe0: single segment with an 8-byte content size of 1 GiB, then nothing.
		"zstd content of a gigabyte": {compress.Zstd, []byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0x40, 0, 0, 0, 0}},
		// The same with one raw part of a byte, then a second frame of such a kind.
		"zstd content that is not there": {compress.Zstd, []byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0x40, 0, 0, 0, 0, 9, 0, 0, 'x'}},
		// Window descriptor 0xa8: exponent 21, a window of 2 GiB; one raw block of a byte.
		"zstd window of 2 GiB": {compress.Zstd, []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 0xa8, 9, 0, 0, 'x'}},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := compress.Decompress(nil, c.codec, c.block, 1<<30)
		runtime.ReadMemStats(&after)
		if !errors.As(err, new(*compress.CorruptError)) {
			t.Errorf("%s: %v", name, err)
		}
		if bytes := after.TotalAlloc - before.TotalAlloc; bytes > allowed {
			t.Errorf("%s: %d bytes set aside", name, bytes)
		}
	}
}

// Java at level 22 names a window of 128 MiB; the block here is large enough to need a stream.
func TestWideZstdWindowsAreReadOneAfterTheOther(t *testing.T) {
	plain := text(3 << 20)
	var block bytes.Buffer
	w, err := zstd.NewWriter(&block, zstd.WithWindowSize(128<<20), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			got, err := compress.Decompress(nil, compress.Zstd, block.Bytes(), len(plain))
			if err != nil || !bytes.Equal(got, plain) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
	readers.Wait()
}

// A decoder that takes all frames of a block at once would hold the bomb behind the small first frame.
func TestABombBehindASmallFrameIsReadAsAStream(t *testing.T) {
	const plain, allowed = 64 << 20, 8 << 20
	var bomb bytes.Buffer
	w, err := zstd.NewWriter(&bomb, zstd.WithWindowSize(1<<20), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	bomb.Write(w.EncodeAll([]byte("small"), nil))
	if _, err := w.Write(make([]byte, plain)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := compress.Open(compress.Zstd, bomb.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, r)
	r.Close()
	runtime.ReadMemStats(&after)
	if bytes := after.TotalAlloc - before.TotalAlloc; err != nil || n != plain+5 || bytes > allowed {
		t.Errorf("%d bytes, %v, %d bytes of memory", n, err, bytes)
	}
}

func TestPoolsServeManyAtOnce(t *testing.T) {
	var workers sync.WaitGroup
	for i := range 8 {
		workers.Go(func() {
			for j := range 20 {
				c := codecs[(i+j)%len(codecs)]
				plain := text(1000 + 3000*i + j)
				block, err := compress.Append(nil, c, compress.DefaultLevel(c), plain)
				if err != nil {
					t.Error(err)
					return
				}
				// A reader that fails gives its buffers back like one that does not.
				_, _ = compress.Decompress(nil, c, block[:len(block)/2], len(plain))
				got, err := compress.Decompress(nil, c, block, len(plain))
				if err != nil || !bytes.Equal(got, plain) {
					t.Errorf("%v: %d of %d bytes, %v", c, len(got), len(plain), err)
				}
			}
		})
	}
	workers.Wait()
}

func FuzzDecompress(f *testing.F) {
	f.Fuzz(func(t *testing.T, codec uint8, block []byte) {
		const limit = 1 << 20
		c := compress.Codec(codec % 6)
		plain, err := compress.Decompress(nil, c, block, limit)
		if err != nil {
			if !errors.Is(err, compress.ErrTooLarge) && !errors.As(err, new(*compress.CorruptError)) {
				t.Fatalf("%v: %v", c, err)
			}
			return
		}
		if len(plain) > limit {
			t.Fatalf("%v: %d bytes", c, len(plain))
		}
		again, err := compress.Append(nil, c, compress.DefaultLevel(c), plain)
		if err != nil {
			t.Fatal(err)
		}
		back, err := compress.Decompress(nil, c, again, limit)
		if err != nil || !bytes.Equal(back, plain) {
			t.Fatalf("%v: %d bytes came back as %d, %v", c, len(plain), len(back), err)
		}
	})
}
