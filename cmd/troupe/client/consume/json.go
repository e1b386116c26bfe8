package consume

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"
)

// jsonRecord is a line of -o json.
type jsonRecord struct {
	Topic     string       `json:"topic"`
	Partition int32        `json:"partition"`
	Offset    int64        `json:"offset"`
	Timestamp int64        `json:"timestamp"`
	Key       *jsonBytes   `json:"key"`
	Value     *jsonBytes   `json:"value"`
	Headers   []jsonHeader `json:"headers,omitempty"`
}

// jsonHeader stands in a list and not in an object: a key may occur twice, and the order counts (KIP-82).
type jsonHeader struct {
	Key   string     `json:"key"`
	Value *jsonBytes `json:"value"`
}

func toJSON(r *kgo.Record) jsonRecord {
	j := jsonRecord{
		Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Timestamp: r.Timestamp.UnixMilli(),
		Key: bytesOrNull(r.Key), Value: bytesOrNull(r.Value),
	}
	for _, h := range r.Headers {
		j.Headers = append(j.Headers, jsonHeader{h.Key, bytesOrNull(h.Value)})
	}
	return j
}

// jsonBytes is a string in JSON when it is valid UTF-8, and {"base64": "…"} when it is not.
type jsonBytes []byte

func bytesOrNull(b []byte) *jsonBytes {
	if b == nil {
		return nil
	}
	return (*jsonBytes)(&b)
}

// MarshalJSON gives the string or the object.
func (b *jsonBytes) MarshalJSON() ([]byte, error) {
	if utf8.Valid(*b) {
		return json.Marshal(string(*b))
	}
	return json.Marshal(map[string][]byte{"base64": *b})
}
