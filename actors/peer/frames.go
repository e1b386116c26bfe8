package peer

import (
	"math/bits"
	"sync"
)

// Recycler is a Transport that uses the memory of frames again.
type Recycler interface {
	// Recycle takes a frame that was received and is not read any more.
	Recycle(frame []byte)
}

const (
	// leastPooled and mostPooled bound what is kept for later. Smaller frames cost the collector little; clearing memory for
	// those of a follower's fetches was measured to take a seventh of its CPU with batches of 64 KiB, a twentieth with 1 KiB.
	leastPooled = 4 << 10
	mostPooled  = 16 << 20
	classes     = 25
)

// frames keeps large frames by the size of their memory, in steps of a half and a third: 4 KiB, 6 KiB, 8 KiB and so on.
// The collector takes what nobody has used for a while.
type frames [classes]sync.Pool

// classOf gives the least class that holds n bytes, and its size.
func classOf(n int) (class, size int) {
	power := bits.Len(uint((n - 1) / leastPooled)) // of leastPooled<<power, the least that holds n
	class, size = 2*power, leastPooled<<power
	if smaller := size / 4 * 3; power > 0 && n <= smaller {
		return class - 1, smaller
	}
	return class, size
}

// take gives memory for a frame of n bytes.
func (f *frames) take(n int) []byte {
	if n < leastPooled || n > mostPooled {
		return make([]byte, n)
	}
	class, size := classOf(n)
	if b, ok := f[class].Get().(*[]byte); ok {
		return (*b)[:n]
	}
	return make([]byte, n, size)
}

// give takes the memory of a frame back.
func (f *frames) give(b []byte) {
	if cap(b) < leastPooled || cap(b) > mostPooled {
		return
	}
	if class, size := classOf(cap(b)); size == cap(b) {
		b = b[:size]
		f[class].Put(&b)
	}
}
