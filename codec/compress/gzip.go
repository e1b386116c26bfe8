package compress

import (
	"bytes"

	"github.com/klauspost/compress/gzip"
)

// gzipDecoder reads one or several gzip members in a row, as java.util.zip does.
type gzipDecoder struct {
	gzip.Reader
	block bytes.Reader
}

func (d *gzipDecoder) reset(block []byte) error {
	d.block.Reset(block)
	return d.Reader.Reset(&d.block)
}

func (d *gzipDecoder) close() (reusable bool) {
	d.block.Reset(nil)
	return true
}

func appendGzip(dst []byte, level int, src []byte) ([]byte, error) {
	w, pool, err := pooled(Gzip, level, func() (*gzip.Writer, error) { return gzip.NewWriterLevel(nil, level) })
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
