package checkpoint

import (
	"fmt"
	"strconv"
	"strings"
)

// A checkpoint is text, one item a line: the version 0, the number of entries, then one entry a line with its fields
// separated by white space. An empty file has no entries: Kafka makes one before it first writes.
const linesVersion = "0"

// parseLines checks the frame and gives each entry's fields to take, whose error names what is wrong in the line.
func parseLines(file string, data []byte, fields int, take func(fields []string) error) error {
	if len(data) == 0 {
		return nil
	}
	// The last line break may be missing: Kafka's readers go by lines, not by bytes.
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if lines[0] != linesVersion {
		return &FormatError{file, 1, fmt.Sprintf("version %q, want %s", lines[0], linesVersion)}
	}
	if len(lines) == 1 {
		return &FormatError{file, 2, "the number of entries is missing"}
	}
	entries := lines[2:]
	if count, err := strconv.Atoi(lines[1]); err != nil || count != len(entries) {
		return &FormatError{file, 2, fmt.Sprintf("announces %q entries, but %d follow", lines[1], len(entries))}
	}
	for i, line := range entries {
		parts := strings.Fields(line)
		if len(parts) != fields {
			return &FormatError{file, i + 3, fmt.Sprintf("%q has %d fields, want %d", line, len(parts), fields)}
		}
		if err := take(parts); err != nil {
			return &FormatError{file, i + 3, err.Error()}
		}
	}
	return nil
}

// appendFrame begins a checkpoint of count entries.
func appendFrame(dst []byte, count int) []byte {
	dst = append(dst, linesVersion...)
	dst = append(dst, '\n')
	dst = strconv.AppendInt(dst, int64(count), 10)
	return append(dst, '\n')
}

// parseNumber reads a number that is not negative and fits the bits of its type.
func parseNumber(what, text string, bits int) (int64, error) {
	n, err := strconv.ParseInt(text, 10, bits)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s is %q, want a number from 0 to 2^%d-1", what, text, bits-1)
	}
	return n, nil
}
