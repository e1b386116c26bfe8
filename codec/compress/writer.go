package compress

import (
	"fmt"
	"io"
	"sync"
)

// levels are the ranges and defaults of compression.gzip.level, compression.lz4.level and compression.zstd.level
// (facts/topic-configs.csv, KIP-390).
var levels = [...]struct{ least, most, standard int }{
	Gzip: {1, 9, -1},
	LZ4:  {1, 17, 9},
	Zstd: {-131072, 22, 3},
}

// DefaultLevel is the level of Kafka's clients and topics for the codec, on the codec's own scale; 0 for those without.
func DefaultLevel(c Codec) int {
	if int(c) >= len(levels) || c < 0 {
		return 0
	}
	return levels[c].standard
}

// CheckLevel tells why a level is none of the codec's. Codecs without levels take any.
func CheckLevel(c Codec, level int) error {
	if c != Gzip && c != LZ4 && c != Zstd || level == levels[c].standard {
		return nil
	}
	if l := levels[c]; level < l.least || level > l.most {
		return fmt.Errorf("%v has no level %d: want %d to %d, or %d for the default", c, level, l.least, l.most, l.standard)
	}
	return nil
}

// Append compresses src as one block behind dst, at a level of the codec's own scale (DefaultLevel; none and snappy have
// no levels and take any). It fails for a codec or level that does not exist.
func Append(dst []byte, c Codec, level int, src []byte) ([]byte, error) {
	if err := CheckLevel(c, level); err != nil {
		return dst, err
	}
	switch c {
	case None:
		return append(dst, src...), nil
	case Gzip:
		return appendGzip(dst, level, src)
	case Snappy:
		return appendSnappy(dst, src), nil
	case LZ4:
		return appendLZ4(dst, level, src)
	case Zstd:
		return appendZstd(dst, level, src)
	}
	return dst, fmt.Errorf("%v is no compression type", c)
}

// encoder names one kind of writer: its tables are made for the level.
type encoder struct {
	codec Codec
	level int
}

// encoders has a pool for each encoder in use: a broker meets few of them.
var encoders sync.Map

// pooled takes a writer from its pool or makes one. The caller puts it back when it served without an error.
func pooled[W any](key encoder, make func() (W, error)) (W, *sync.Pool, error) {
	known, ok := encoders.Load(key)
	if !ok {
		known, _ = encoders.LoadOrStore(key, new(sync.Pool))
	}
	pool := known.(*sync.Pool)
	if w, ok := pool.Get().(W); ok {
		return w, pool, nil
	}
	w, err := make()
	return w, pool, err
}

// streamer is a library's writer, which compresses into what Reset names and can be used again after it was closed.
type streamer interface {
	io.WriteCloser
	Reset(io.Writer)
}

// appendStream compresses src as one block behind dst. A writer that failed is left to the collector, and one that goes
// back to its pool forgets dst first, or the pool would keep the caller's buffer alive.
func appendStream[W streamer](dst []byte, e encoder, src []byte, make func() (W, error)) ([]byte, error) {
	w, pool, err := pooled(e, make)
	if err != nil {
		return dst, err
	}
	out := sink{dst}
	w.Reset(&out)
	if _, err := w.Write(src); err != nil {
		return dst, err
	}
	if err := w.Close(); err != nil {
		return dst, err
	}
	w.Reset(nil)
	pool.Put(w)
	return out.b, nil
}

// sink lets a writer append to a slice.
type sink struct{ b []byte }

func (s *sink) Write(p []byte) (int, error) {
	s.b = append(s.b, p...)
	return len(p), nil
}
