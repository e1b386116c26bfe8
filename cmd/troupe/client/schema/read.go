package schema

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"troupe/internal/model"
)

// Object is a JSON object that keeps the order of its fields.
type Object []Member

// Member is a field of an Object.
type Member struct {
	Name  string
	Value any // Object, []any, string, json.Number, bool, Bytes or nil
}

// Bytes is a value that JSON shows in base64.
type Bytes []byte

// MarshalJSON gives standard base64, as Kafka's converters do.
func (b Bytes) MarshalJSON() ([]byte, error) {
	return json.Marshal(base64.StdEncoding.EncodeToString(b))
}

// Read reads the fields of a record at a version. Bytes after the last field are left alone, as Kafka leaves them.
func (r *Record) Read(version int16, b []byte) (o Object, err error) {
	if !r.versions.has(version) {
		return nil, fmt.Errorf("can't read version %d of %s", version, r.Name)
	}
	c := &cursor{b: b}
	o = r.fieldsOf(c, version, r.fields)
	if c.err != nil {
		return nil, fmt.Errorf("%s version %d: %w", r.Name, version, c.err)
	}
	return o, nil
}

// fieldsOf reads a structure: its fields in order, then in flexible versions the tagged ones.
func (r *Record) fieldsOf(c *cursor, version int16, fields []field) Object {
	flexible := r.flexible.has(version)
	// Values are kept by their place in the schema: tagged fields come last on the wire, but not in JSON.
	values := make([]any, len(fields))
	present := make([]bool, len(fields))
	for i, f := range fields {
		if f.versions.has(version) && !f.tagged.has(version) {
			values[i], present[i] = r.value(c, version, f), true
		}
	}
	if flexible {
		// tag uvarint | size uvarint | value, for each tagged field that is there (KIP-482). What is not known is passed
		// over by its size.
		for n := c.uvarint(); n > 0 && c.err == nil; n-- {
			tag, size := int(c.uvarint()), int(c.uvarint())
			inner := &cursor{b: c.take(size), tagged: true}
			for i, f := range fields {
				if f.tag == tag && f.tagged.has(version) && c.err == nil {
					values[i] = r.value(inner, version, f)
					present[i] = !f.isDefault(values[i])
					c.err = inner.err
				}
			}
		}
	}
	o := Object{}
	for i, f := range fields {
		if present[i] {
			o = append(o, Member{f.name, values[i]})
		}
	}
	return o
}

// isDefault tells whether a tagged field says nothing.
func (f field) isDefault(v any) bool {
	switch v := v.(type) {
	case nil:
		return f.def == "null"
	case []any:
		return len(v) == 0 && f.def != "null"
	case json.Number:
		return v.String() == f.def || f.def == "" && v.String() == "0"
	case string:
		return f.kind == "uuid" && v == model.UUID{}.String() || v == f.def
	case bool:
		return strconv.FormatBool(v) == f.def || f.def == "" && !v
	}
	return false
}

// value reads a field: itself, or the elements of an array, of which none is null.
func (r *Record) value(c *cursor, version int16, f field) any {
	flexible, nullable := r.flexible.has(version), f.null.has(version)
	if !f.array {
		return r.single(c, version, f, flexible, nullable)
	}
	n := c.length(flexible, 4)
	if n < 0 {
		return nil
	}
	list := []any{}
	for i := 0; i < n && c.err == nil; i++ {
		element := f
		element.array = false
		list = append(list, r.single(c, version, element, flexible, false))
	}
	return list
}

// single reads one value of a field's type. Numbers become json.Number, so that 64 bits survive JSON.
func (r *Record) single(c *cursor, version int16, f field, flexible, nullable bool) any {
	switch f.kind {
	case "bool":
		return c.number(1) != 0
	case "int8":
		return number(int64(int8(c.number(1))))
	case "int16":
		return number(int64(int16(c.number(2))))
	case "uint16":
		return number(int64(c.number(2)))
	case "int32":
		return number(int64(int32(c.number(4))))
	case "int64":
		return number(int64(c.number(8)))
	case "float64":
		return json.Number(floatText(math.Float64frombits(c.number(8))))
	case "uuid":
		return model.UUID(c.take(16)[:16]).String()
	case "string":
		n := c.length(flexible, 2)
		if n < 0 {
			return nil
		}
		return string(c.take(n))
	case "bytes":
		n := c.length(flexible, 4)
		if n < 0 {
			return nil
		}
		return Bytes(c.take(n))
	}
	if nullable && c.absent() {
		return nil
	}
	// A structure stands in place, or under a name when several fields share it.
	fields := f.fields
	if len(fields) == 0 {
		fields = r.structs[f.kind]
	}
	return r.fieldsOf(c, version, fields)
}

func number(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }

// cursor takes bytes off a slice. After the first error it gives zeros.
type cursor struct {
	b      []byte
	err    error
	tagged bool // the bytes are a tagged field's
}

// absent reads whether a structure that may be null is: -1 and 1 stand before it, but 0 and 1 in a tagged field.
func (c *cursor) absent() bool {
	if c.tagged {
		c.tagged = false // what is inside is no longer the field itself
		return c.uvarint() == 0
	}
	return int8(c.number(1)) < 0
}

// zeros are what a cursor gives in place of a fixed number of bytes that are not there.
var zeros [16]byte

// take gives n bytes, or zeros and an error when they are not there; n below 0 comes from a damaged length.
func (c *cursor) take(n int) []byte {
	if c.err == nil && (n < 0 || n > len(c.b)) {
		c.err = fmt.Errorf("%d bytes are missing", n-len(c.b))
	}
	if c.err != nil {
		return zeros[:]
	}
	taken := c.b[:n]
	c.b = c.b[n:]
	return taken
}

func (c *cursor) number(size int) uint64 {
	var n uint64
	for _, b := range c.take(size)[:size] {
		n = n<<8 | uint64(b)
	}
	return n
}

func (c *cursor) uvarint() uint64 {
	n, size := binary.Uvarint(c.b)
	if size <= 0 {
		if c.err == nil {
			c.err = fmt.Errorf("a number of variable length is cut off")
		}
		return 0
	}
	c.b = c.b[size:]
	return n
}

// length reads the length of a string, bytes or an array; -1 is null. size is that of the number before flexible
// versions.
func (c *cursor) length(flexible bool, size int) int {
	if flexible {
		// Compact: the length plus one, 0 for null (KIP-482).
		return int(min(c.uvarint(), math.MaxInt32)) - 1
	}
	if size == 2 {
		return int(int16(c.number(2)))
	}
	return int(int32(c.number(4)))
}
