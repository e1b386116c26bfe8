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
	return appendStream(dst, encoder{Gzip, level}, src, func() (*gzip.Writer, error) { return gzip.NewWriterLevel(nil, level) })
}
