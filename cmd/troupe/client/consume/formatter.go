package consume

import (
	"bufio"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/cmd/troupe/client/kafkatext"
)

// formatter writes a record by the properties of Kafka's DefaultMessageFormatter: the chosen columns apart by
// key.separator, then line.separator.
type formatter struct {
	timestamp, partition, offset, delivery, epoch, headers, key, value bool

	keySeparator, lineSeparator, headersSeparator, null []byte

	decodeKey, decodeValue, decodeHeader deserializer
}

// newFormatter takes Kafka's defaults: the value alone, columns apart by tabs. print.value is the one that is on.
func newFormatter(props kafkatext.Properties) (*formatter, error) {
	bytesOf := func(key, def string) []byte {
		if v, ok := props[key]; ok {
			return []byte(v)
		}
		return []byte(def)
	}
	f := &formatter{
		timestamp: props.True("print.timestamp"), partition: props.True("print.partition"), offset: props.True("print.offset"),
		delivery: props.True("print.delivery"), epoch: props.True("print.epoch"), headers: props.True("print.headers"),
		key: props.True("print.key"), value: true,
		keySeparator: bytesOf("key.separator", "\t"), lineSeparator: bytesOf("line.separator", "\n"),
		headersSeparator: bytesOf("headers.separator", ","), null: bytesOf("null.literal", "null"),
	}
	if _, ok := props["print.value"]; ok {
		f.value = props.True("print.value")
	}
	var err error
	for _, d := range []struct {
		key string
		to  *deserializer
	}{
		{"key.deserializer", &f.decodeKey}, {"value.deserializer", &f.decodeValue}, {"headers.deserializer", &f.decodeHeader},
	} {
		if *d.to, err = newDeserializer(props[d.key]); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// write writes one record. A value of the wrong size for its deserializer is an error.
func (f *formatter) write(w *bufio.Writer, r *kgo.Record) error {
	columns := []struct {
		shown bool
		write func() error
	}{
		// Kafka's order of columns, whichever are shown.
		{f.timestamp, func() error { return f.writeTimestamp(w, r) }},
		{f.partition, func() error { return put(w, "Partition:"+strconv.Itoa(int(r.Partition))) }},
		{f.offset, func() error { return put(w, "Offset:"+strconv.FormatInt(r.Offset, 10)) }},
		// The console consumer hands its formatter neither of these two.
		{f.delivery, func() error { return put(w, "Delivery:NOT_PRESENT") }},
		{f.epoch, func() error { return put(w, "Epoch:NOT_PRESENT") }},
		{f.headers, func() error { return f.writeHeaders(w, r.Headers) }},
		{f.key, func() error { return f.writeBytes(w, f.decodeKey, r.Key) }},
		{f.value, func() error { return f.writeBytes(w, f.decodeValue, r.Value) }},
	}
	first := true
	for _, column := range columns {
		if !column.shown {
			continue
		}
		if !first {
			w.Write(f.keySeparator)
		}
		first = false
		if err := column.write(); err != nil {
			return err
		}
	}
	// A record without any column gives no line either.
	if first {
		return nil
	}
	_, err := w.Write(f.lineSeparator)
	return err
}

// writeTimestamp says who set the time: the producer, or the broker when it appended (KIP-32).
func (f *formatter) writeTimestamp(w *bufio.Writer, r *kgo.Record) error {
	ms := strconv.FormatInt(r.Timestamp.UnixMilli(), 10)
	switch r.Attrs.TimestampType() {
	case 0:
		return put(w, "CreateTime:"+ms)
	case 1:
		return put(w, "LogAppendTime:"+ms)
	}
	return put(w, "NO_TIMESTAMP")
}

// writeHeaders writes key:value pairs (KIP-431). A record without headers says so, to keep the columns apart.
func (f *formatter) writeHeaders(w *bufio.Writer, headers []kgo.RecordHeader) error {
	if len(headers) == 0 {
		return put(w, "NO_HEADERS")
	}
	for i, h := range headers {
		if i > 0 {
			w.Write(f.headersSeparator)
		}
		w.WriteString(h.Key + ":")
		if err := f.writeBytes(w, f.decodeHeader, h.Value); err != nil {
			return err
		}
	}
	return nil
}

// writeBytes writes a value; null.literal stands for null before deserializing, as Kafka has it.
func (f *formatter) writeBytes(w *bufio.Writer, decode deserializer, b []byte) error {
	if b == nil {
		b = f.null
	}
	if decode == nil {
		_, err := w.Write(b)
		return err
	}
	text, err := decode(b)
	if err != nil {
		return err
	}
	return put(w, text)
}

func put(w *bufio.Writer, s string) error {
	_, err := w.WriteString(s)
	return err
}
