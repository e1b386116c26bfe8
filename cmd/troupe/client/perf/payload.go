package perf

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"troupe/cmd/troupe/client/option"
	"troupe/internal/model"
)

// payload gives the value of the i-th record.
type payload func(i int64) []byte

func (c *command) payload(s option.Streams, size int64) (payload, error) {
	// A fixed seed, as in the script: two runs send the same bytes and compress alike.
	random := mathrand.NewPCG(0, 0)
	switch {
	case c.recordSize.Given():
		return func(int64) []byte { return letters(random, int(size)) }, nil
	case c.payloadFile.Given():
		values, err := c.readPayloads(s)
		if err != nil {
			return nil, err
		}
		draw := mathrand.New(random)
		return func(int64) []byte { return values[draw.IntN(len(values))] }, nil
	}
	return func(i int64) []byte { return strconv.AppendInt(nil, i, 10) }, nil
}

// letters gives random capital letters, as the script's records are; eight come of one draw.
func letters(random *mathrand.PCG, n int) []byte {
	b := make([]byte, (n+7)&^7)
	// Making records must cost less than sending them, or the figure is that of this process.
	for i := 0; i < n; i += 8 {
		draw := random.Uint64()
		binary.LittleEndian.PutUint64(b[i:], draw)
		for j := i; j < i+8; j++ {
			b[j] = 'A' + byte(uint16(b[j])*26>>8)
		}
	}
	return b[:n]
}

// readPayloads splits the payload file at the delimiter, which is a regular expression.
func (c *command) readPayloads(s option.Streams) ([][]byte, error) {
	path, err := filepath.Abs(c.payloadFile.Last())
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(s.Out, "Reading payloads from: %s\n", path)
	text, err := os.ReadFile(path)
	if err != nil || len(text) == 0 {
		return nil, option.Fail("File does not exist or empty file provided.")
	}
	delimiter, err := regexp.Compile(c.delimiter.Last())
	if err != nil {
		return nil, option.Fail("--payload-delimiter: %s", err)
	}
	var values [][]byte
	parts := delimiter.Split(string(text), -1)
	// A file that ends in a delimiter has no empty record behind it, as Java's split has none.
	if parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	for _, part := range parts {
		values = append(values, []byte(part))
	}
	fmt.Fprintf(s.Out, "Number of records read: %d\n", len(values))
	if len(values) == 0 {
		return nil, option.Fail("No payload file, record size or payload-monotonic option provided.")
	}
	return values, nil
}

// randomID ends a transactional id that was not given.
func randomID() string {
	id, err := model.NewUUID(rand.Reader)
	if err != nil {
		return strconv.Itoa(os.Getpid())
	}
	return id.String()
}
