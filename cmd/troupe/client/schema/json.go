package schema

import (
	"bytes"
	"encoding/json"

	"troupe/internal/javatext"
)

// MarshalJSON writes the fields in the schema's order, as the script does; of a map it would be lost.
func (o Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		for j, part := range []any{m.Name, m.Value} {
			if j == 1 {
				b.WriteByte(':')
			}
			text, err := plain(part)
			if err != nil {
				return nil, err
			}
			b.Write(text)
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// plain writes JSON without Go's escapes of <, > and &.
func plain(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// String is the JSON text.
func (o Object) String() string {
	text, err := plain(o)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// floatText writes a double as Jackson does, in Java's way.
func floatText(v float64) string { return javatext.Double(v, 64) }
