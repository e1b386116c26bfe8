// Package batch reads, checks, patches and makes record batches of format v2, the unit in which Kafka's clients,
// brokers and files carry records. docs/formats/record-batch.md draws the layout.
package batch

import (
	"encoding/binary"
	"errors"
	"fmt"

	"troupe/internal/model"
)

// legacyOverhead is the least length field of any format: that of a message of format 0 with no key and value.
const legacyOverhead = 14

// ErrIncomplete says that the bytes end before the batch does: a fetch cut short, or the torn tail of a file.
var ErrIncomplete = errors.New("the bytes end within a record batch")

// ErrOldMagic says that the bytes are a message set of format 0 or 1, which Kafka 4 neither takes nor converts.
var ErrOldMagic = errors.New("message formats 0 and 1 are not supported")

// CorruptError says that bytes cannot be a record batch, or are not what was written.
type CorruptError struct {
	// Reason is what is wrong.
	Reason string
	// Offset is the base offset that the batch claims; it may itself be garbage.
	Offset model.Offset
}

// Error names the offset and the reason.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("corrupt record batch at offset %d: %s", e.Offset, e.Reason)
}

// First takes the batch at the start of b and gives the bytes after it.
// It checks the magic and that the length is possible and there, and nothing else; it never allocates on success.
// Errors: ErrIncomplete (also for an empty b), ErrOldMagic, *CorruptError.
func First(b []byte) (v View, rest []byte, err error) {
	size, err := Size(b)
	if err != nil {
		return nil, nil, err
	}
	if size > len(b) {
		return nil, nil, ErrIncomplete
	}
	return View(b[:size:size]), b[size:], nil
}

// Size tells how long the batch is of which b holds at least the first MagicEnd bytes, for a reader of files that
// has only a header so far. Errors are those of First.
func Size(b []byte) (int, error) {
	if len(b) < MagicEnd {
		return 0, ErrIncomplete
	}
	length := int32(binary.BigEndian.Uint32(b[posLength:]))
	magic := b[posMagic]
	switch {
	case length < legacyOverhead:
		return 0, corruptAt(b, fmt.Sprintf("length %d is less than any batch has", length))
	case magic < magicV2:
		return 0, ErrOldMagic
	case magic > magicV2:
		return 0, corruptAt(b, fmt.Sprintf("unknown magic %d", magic))
	case length < HeaderSize-LengthEnd:
		return 0, corruptAt(b, fmt.Sprintf("length %d is less than a header has", length))
	}
	return LengthEnd + int(length), nil
}

func corruptAt(b []byte, reason string) *CorruptError {
	return &CorruptError{Reason: reason, Offset: View(b).BaseOffset()}
}

func (v View) corrupt(reason string) *CorruptError { return corruptAt(v, reason) }
