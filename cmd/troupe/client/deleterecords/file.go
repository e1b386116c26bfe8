package deleterecords

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"

	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
	"troupe/internal/model"
)

// parse reads the offsets file: {"version": 1, "partitions": [{"topic", "partition", "offset"}]}. Other fields are left
// alone, the version may be absent, and a partition may stand in it once.
func parse(text []byte) ([]target, error) {
	var file map[string]json.RawMessage
	// Two steps, because the script tells text that is no JSON from JSON of another shape.
	if !json.Valid(text) {
		return nil, option.Fail("The input string is not a valid JSON")
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, option.Fail("Expected JSON object, received %s", bytes.TrimSpace(text))
	}
	// Without a version it is 1, the only one there is.
	if raw, ok := file["version"]; ok {
		version, err := number(raw, "Integer", math.MaxInt32)
		if err != nil {
			return nil, err
		}
		if version != 1 {
			return nil, option.Fail("Not supported version field value %d", version)
		}
	}
	raw, ok := file["partitions"]
	if !ok {
		return nil, option.Fail("Missing partitions field")
	}
	var entries []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &entries); err != nil {
		return nil, option.Fail("Expected JSON array, received %s", raw)
	}
	var targets []target
	for _, entry := range entries {
		t, err := parseEntry(entry)
		if err != nil {
			return nil, err
		}
		targets = append(targets, t)
	}
	// A partition may stand in the file once: which offset of two is meant nobody can tell.
	partitions := make([]model.TopicPartition, len(targets))
	for i, t := range targets {
		partitions[i] = t.tp
	}
	if again := kafkatext.Repeated(partitions); len(again) > 0 {
		return nil, option.Fail("Offset json file contains duplicate topic partitions: %s", strings.Join(again, ","))
	}
	return targets, nil
}

// parseEntry names the first field that is missing; the script looks for them in this order.
func parseEntry(entry map[string]json.RawMessage) (target, error) {
	for _, field := range []string{"topic", "partition", "offset"} {
		if _, ok := entry[field]; !ok {
			return target{}, option.Fail("No such field exists: `%s`", field)
		}
	}
	var t target
	if err := json.Unmarshal(entry["topic"], &t.tp.Topic); err != nil {
		return target{}, option.Fail("Expected `String` value, received %s", entry["topic"])
	}
	partition, err := number(entry["partition"], "Integer", math.MaxInt32)
	if err != nil {
		return target{}, err
	}
	t.tp.Partition = int32(partition)
	t.offset, err = number(entry["offset"], "Long", math.MaxInt64)
	return t, err
}

// number reads a whole number between -limit-1 and limit.
func number(raw json.RawMessage, class string, limit int64) (int64, error) {
	var n int64
	if err := json.Unmarshal(raw, &n); err != nil || n > limit || n < -limit-1 {
		return 0, option.Fail("Expected `%s` value, received %s", class, raw)
	}
	return n, nil
}
