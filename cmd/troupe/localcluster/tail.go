package localcluster

import (
	"bytes"
	"errors"
	"io"
	"os"
)

// tail reads a file that another process appends to, from where it ended when it was opened.
type tail struct {
	file *os.File
	rest []byte // the line that is not finished
}

func openTail(path string) (*tail, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekEnd); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &tail{file: f}, nil
}

// lines gives the whole lines that have come since the last call; the end of the file is no error.
func (t *tail) lines() ([]string, error) {
	text, err := io.ReadAll(t.file)
	t.rest = append(t.rest, text...)
	var found []string
	for {
		line, rest, whole := bytes.Cut(t.rest, []byte("\n"))
		if !whole {
			return found, err
		}
		found = append(found, string(line))
		t.rest = rest
	}
}

func (t *tail) close() error { return t.file.Close() }
