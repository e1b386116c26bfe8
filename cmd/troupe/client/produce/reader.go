package produce

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/cmd/troupe/client/kafkatext"
)

// lineReader makes a record of each line: [headers headersDelimiter] [key keySeparator] value, by the properties of
// LineMessageReader.
type lineReader struct {
	parseKey, parseHeaders, ignoreError   bool
	keySeparator                          string
	headersDelimiter, headersKeySeparator string
	headersSeparator                      *regexp.Regexp
	nullMarker                            *string

	in     *bufio.Reader
	line   int
	prompt func()
}

func newLineReader(props kafkatext.Properties, in io.Reader, prompt func()) (*lineReader, error) {
	get := func(key, def string) string {
		if v, ok := props[key]; ok {
			return v
		}
		return def
	}
	r := &lineReader{
		parseKey: props.True("parse.key"), parseHeaders: props.True("parse.headers"), ignoreError: props.True("ignore.error"),
		keySeparator: get("key.separator", "\t"), headersDelimiter: get("headers.delimiter", "\t"),
		headersKeySeparator: get("headers.key.separator", ":"), in: bufio.NewReader(in), prompt: prompt,
	}
	separator := get("headers.separator", ",")
	var err error
	if r.headersSeparator, err = regexp.Compile(separator); err != nil {
		return nil, fmt.Errorf("headers.separator %q is not a regular expression: %w", separator, err)
	}
	if marker, ok := props["null.marker"]; ok {
		r.nullMarker = &marker
	}
	// Equal separators would make a line mean two things. The marker of null must not be one either (KIP-810).
	for _, clash := range [][4]string{
		{"headers.delimiter", r.headersDelimiter, "headers.separator", separator},
		{"headers.delimiter", r.headersDelimiter, "headers.key.separator", r.headersKeySeparator},
		{"headers.separator", separator, "headers.key.separator", r.headersKeySeparator},
	} {
		if clash[1] == clash[3] {
			return nil, exception("%s and %s may not be equal", clash[0], clash[2])
		}
	}
	for _, clash := range [][2]string{
		{"key.separator", r.keySeparator}, {"headers.separator", separator},
		{"headers.delimiter", r.headersDelimiter}, {"headers.key.separator", r.headersKeySeparator},
	} {
		if r.isNull(clash[1]) {
			return nil, exception("null.marker and %s may not be equal", clash[0])
		}
	}
	return r, nil
}

// exception is a KafkaException as it is printed with its class.
func exception(format string, args ...any) error {
	return errors.New("org.apache.kafka.common.KafkaException: " + fmt.Sprintf(format, args...))
}

func (r *lineReader) isNull(s string) bool { return r.nullMarker != nil && s == *r.nullMarker }

// next reads one record; io.EOF ends the input.
func (r *lineReader) next() (*kgo.Record, error) {
	r.line++
	r.prompt()
	line, err := r.readLine()
	if err != nil {
		return nil, err
	}
	// Headers first, then the key (KIP-798): the value is what is left, separators and all.
	rest := line
	record := &kgo.Record{}
	if r.parseHeaders {
		headers, after, err := r.cut(line, rest, r.headersDelimiter, "headers delimiter")
		if err != nil {
			return nil, err
		}
		rest = after
		// The marker in place of the headers means that there are none.
		if headers != nil && !r.isNull(*headers) {
			if record.Headers, err = r.headers(*headers); err != nil {
				return nil, err
			}
		}
	}
	if r.parseKey {
		key, after, err := r.cut(line, rest, r.keySeparator, "key separator")
		if err != nil {
			return nil, err
		}
		rest = after
		if key != nil && !r.isNull(*key) {
			record.Key = []byte(*key)
		}
	}
	if !r.isNull(rest) {
		record.Value = []byte(rest)
	}
	return record, nil
}

// cut takes the part before a separator off rest. Without one, nothing is taken if errors are ignored.
func (r *lineReader) cut(line, rest, separator, name string) (*string, string, error) {
	part, after, found := strings.Cut(rest, separator)
	switch {
	case found:
		return &part, after, nil
	case r.ignoreError:
		return nil, rest, nil
	}
	return nil, "", exception("No %s found on line number %d: '%s'", name, r.line, line)
}

// headers reads key:value pairs; keys may repeat and their order stays (KIP-82).
func (r *lineReader) headers(text string) ([]kgo.RecordHeader, error) {
	pairs := r.headersSeparator.Split(text, -1)
	for len(pairs) > 1 && pairs[len(pairs)-1] == "" { // as Java's split
		pairs = pairs[:len(pairs)-1]
	}
	var headers []kgo.RecordHeader
	for _, pair := range pairs {
		key, value, found := strings.Cut(pair, r.headersKeySeparator)
		switch {
		case !found && r.ignoreError:
			// With ignore.error a pair without a separator is a header without a value.
			headers = append(headers, kgo.RecordHeader{Key: pair})
			continue
		case !found:
			return nil, exception("No header key separator found in pair '%s' on line number %d", pair, r.line)
		// A header's value may be null, its key may not.
		case r.isNull(key):
			return nil, exception("Header keys should not be equal to the null marker '%s' as they can't be null", key)
		}
		header := kgo.RecordHeader{Key: key}
		if !r.isNull(value) {
			header.Value = []byte(value)
		}
		headers = append(headers, header)
	}
	return headers, nil
}

// readLine ends lines at \n, \r or \r\n, as java.io.BufferedReader does.
func (r *lineReader) readLine() (string, error) {
	var b strings.Builder
	for {
		c, err := r.in.ReadByte()
		switch {
		case err == io.EOF && b.Len() > 0:
			return b.String(), nil
		case err != nil:
			return "", err
		case c == '\n':
			return b.String(), nil
		case c == '\r':
			return b.String(), r.dropNewline()
		}
		b.WriteByte(c)
	}
}

// dropNewline skips the second half of \r\n. The end of the input is left for the next call.
func (r *lineReader) dropNewline() error {
	next, err := r.in.Peek(1)
	if err == nil && next[0] == '\n' {
		_, err = r.in.Discard(1)
		return err
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
