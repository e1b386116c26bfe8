package listener

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"troupe/codec/frame"
)

// pieces gives a stream's bytes in pieces of the sizes that step says, as a slow peer would.
type pieces struct {
	data []byte
	step func() int
	most int // room asked for at once
}

func (p *pieces) ReadInto(b buffers) (int, error) {
	if len(p.data) == 0 {
		return 0, io.EOF
	}
	// What the system does while nothing is there: it asks for room, and gives it back.
	b.room()
	b.spare()
	room := b.room()
	p.most = max(p.most, len(room))
	n := copy(room, p.data[:min(max(1, p.step()), len(p.data))])
	p.data = p.data[n:]
	return n, nil
}

func stream(bodies ...[]byte) []byte {
	var all []byte
	for _, b := range bodies {
		all = binary.BigEndian.AppendUint32(all, uint32(len(b)))
		all = append(all, b...)
	}
	return all
}

func body(size int, seed byte) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(i)*7 + seed
	}
	return b
}

// readFrames cuts a stream and keeps each chunk as long as the reader of its frame would.
func readFrames(t *testing.T, f *frames, want [][]byte) {
	t.Helper()
	var held []*chunk
	for i := range want {
		c, got, err := f.next()
		if err != nil {
			t.Fatalf("frame %d: %v", i, err)
		}
		if !bytes.Equal(got, want[i]) {
			t.Fatalf("frame %d of %d bytes is not what was sent", i, len(want[i]))
		}
		held = append(held, c)
		if len(held) > 3 { // answered in order, some later
			held[0].release()
			held = held[1:]
		}
	}
	if _, _, err := f.next(); !errors.Is(err, errPeerGone) {
		t.Fatalf("at the end: %v", err)
	}
	f.drop()
	for _, c := range held {
		if c.refs.Load() < 1 {
			t.Fatal("a chunk was given back before its last request")
		}
		c.release()
	}
	for _, c := range held {
		if c.refs.Load() != 0 {
			t.Fatal("a chunk is held for ever")
		}
	}
}

func TestFramesAreCutWhereverTheStreamIs(t *testing.T) {
	small := [][]byte{body(1, 1), body(5, 2), body(63, 3), body(4, 4), body(100, 5)}
	for step := 1; step <= 200; step++ {
		f := &frames{src: &pieces{data: stream(small...), step: func() int { return step }}, limit: 1000}
		readFrames(t, f, small)
	}
	sizes := []int{smallChunk - frame.SizeLen, smallChunk, smallChunk + 1, 7, largeChunk - 4, largeChunk, 1, largeChunk + 1, 3 * largeChunk, 100, smallChunk / 2}
	var large [][]byte
	for i, n := range sizes {
		large = append(large, body(n, byte(i)))
	}
	for seed := range uint64(40) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			step := func() int { return r.IntN([]int{10, smallChunk, largeChunk, 4 * largeChunk}[r.IntN(4)]) }
			readFrames(t, &frames{src: &pieces{data: stream(large...), step: step}, limit: 10 << 20}, large)
		})
	}
}

func TestLargeFramesOfOneSizeAreNotMovedFromChunkToChunk(t *testing.T) {
	const many = 40
	var bodies [][]byte
	for i := range many {
		bodies = append(bodies, body(64<<10, byte(i)))
	}
	f := &frames{src: &pieces{data: stream(bodies...), step: func() int { return 1 << 30 }}, limit: 1 << 20}
	moved := 0
	for range many {
		begun, before := f.end-f.start, f.chunk
		c, _, err := f.next()
		if err != nil {
			t.Fatal(err)
		}
		if begun > 0 && c != before {
			moved++
		}
		c.release()
	}
	// The first read cannot know how large a frame is.
	if moved > 1 {
		t.Errorf("%d of %d frames were begun in one chunk and ended in another", moved, many)
	}
	f.drop()
}

func TestASizeThatIsClaimedCostsNoMemory(t *testing.T) {
	src := &pieces{data: append(binary.BigEndian.AppendUint32(nil, 100<<20), body(1000, 0)...), step: func() int { return 100 }}
	f := &frames{src: src, limit: 100 << 20}
	if _, _, err := f.next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("a frame that is cut off: %v", err)
	}
	if src.most > 2*largeChunk {
		t.Errorf("room of %d bytes was set aside for a thousand", src.most)
	}
	f.drop()
}

func TestSizesBeyondTheLimitEndTheConnection(t *testing.T) {
	for _, size := range []int32{0, -1, -1 << 31, 1001, 1<<31 - 1} {
		src := &pieces{data: binary.BigEndian.AppendUint32(nil, uint32(size)), step: func() int { return 4 }}
		f := &frames{src: src, limit: 1000}
		if _, _, err := f.next(); !errors.Is(err, frame.ErrSize) {
			t.Errorf("a size of %d: %v, want ErrSize", size, err)
		}
		f.drop()
	}
}

func TestNoBufferIsHeldBetweenFrames(t *testing.T) {
	f := &frames{src: &pieces{data: stream(body(10, 0)), step: func() int { return 14 }}, limit: 1000}
	c, _, err := f.next()
	if err != nil {
		t.Fatal(err)
	}
	if f.chunk != nil {
		t.Error("the buffer of an answered frame stays with an idle connection")
	}
	c.release()
}
