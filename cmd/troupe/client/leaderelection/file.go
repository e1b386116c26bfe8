package leaderelection

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"strings"

	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
	"troupe/internal/model"
)

// wrong begins the complaints that the script leaves to its JSON library.
const wrong = "com.fasterxml.jackson.databind.JsonMappingException: "

// read reads the file of partitions. Other fields are left alone, a partition stands in it once, and an empty list is no
// mistake: it elects nothing.
//
//	{"partitions": [{"topic": "a", "partition": 1}, …]}
func read(path string) ([]model.TopicPartition, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, option.Fail("java.io.IOException: Unable to read file %s", path)
	}
	return parse(text)
}

func parse(text []byte) ([]model.TopicPartition, error) {
	// The script takes what is no JSON for nothing at all, and tells it from JSON of another shape.
	if !json.Valid(text) {
		return nil, option.Fail("Replica election data is empty")
	}
	var file map[string]json.RawMessage
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, option.Fail(wrong+"Expected JSON object, received %s", bytes.TrimSpace(text))
	}
	raw, ok := file["partitions"]
	if !ok {
		return nil, option.Fail(`Replica election data is missing "partitions" field`)
	}
	var entries []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &entries); err != nil {
		return nil, option.Fail(wrong+"Expected JSON array, received %s", raw)
	}
	partitions := []model.TopicPartition{}
	for _, entry := range entries {
		tp, err := parseEntry(entry)
		if err != nil {
			return nil, err
		}
		partitions = append(partitions, tp)
	}
	// A request with a partition twice would be answered once, and the count of failures would be off.
	if again := kafkatext.Repeated(partitions); len(again) > 0 {
		return nil, option.Fail("Replica election data contains duplicate partitions: [%s]", strings.Join(again, ", "))
	}
	return partitions, nil
}

// parseEntry names the first field that is missing or of another type.
func parseEntry(entry map[string]json.RawMessage) (tp model.TopicPartition, err error) {
	raw, ok := entry["topic"]
	if !ok {
		return tp, option.Fail(wrong + "No such field exists: `topic`")
	}
	if json.Unmarshal(raw, &tp.Topic) != nil {
		return tp, option.Fail(wrong+"Expected `String` value, received %s", raw)
	}
	if raw, ok = entry["partition"]; !ok {
		return tp, option.Fail(wrong + "No such field exists: `partition`")
	}
	var n int64
	// Read as 64 bits, so that a number that is too large is told as it is written.
	if json.Unmarshal(raw, &n) != nil || n < math.MinInt32 || n > math.MaxInt32 {
		return tp, option.Fail(wrong+"Expected `Integer` value, received %s", raw)
	}
	tp.Partition = int32(n)
	return tp, nil
}
