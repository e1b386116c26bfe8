package verifiableconsumer

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/cmd/troupe/client/verifiable"
	"troupe/internal/model"
)

// partition stands in lists of what was assigned or revoked.
type partition struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
}

// changed is partitions_assigned or partitions_revoked.
type changed struct {
	verifiable.Head
	Partitions []partition `json:"partitions"`
}

// consumed is records_consumed. Count is of the whole poll, even if --max-messages left some of it out.
type consumed struct {
	verifiable.Head
	Count      int    `json:"count"`
	Partitions []span `json:"partitions"`
}

// span is what a poll brought of one partition; offsets are of the first and of the last record.
type span struct {
	partition
	Count     int   `json:"count"`
	MinOffset int64 `json:"minOffset"`
	MaxOffset int64 `json:"maxOffset"`
}

// record is record_data, with --verbose. Keys and values are text; bytes that are none are replaced (U+FFFD).
type record struct {
	verifiable.Head
	Key   *string `json:"key"`
	Value *string `json:"value"`
	partition
	Offset int64 `json:"offset"`
}

// committed is offsets_committed, without --enable-autocommit. It is told after the answer, so a test may count on it.
type committed struct {
	verifiable.Head
	Offsets []commit `json:"offsets"`
	Error   string   `json:"error,omitempty"`
	Success bool     `json:"success"`
}

// commit is the next offset to read, one more than that of the last record.
type commit struct {
	partition
	Offset int64 `json:"offset"`
}

// listed gives the partitions in order: kgo's maps have none.
func listed(partitions map[string][]int32) []partition {
	all := []partition{}
	for topic, numbers := range partitions {
		for _, n := range numbers {
			all = append(all, partition{topic, n})
		}
	}
	slices.SortFunc(all, func(a, b partition) int { return model.TopicPartition(a).Compare(model.TopicPartition(b)) })
	return all
}

// told makes the event of a record.
func told(r *kgo.Record) record {
	return record{verifiable.Now("record_data"), text(r.Key), text(r.Value), partition{r.Topic, r.Partition}, r.Offset}
}

// text is bytes as the Java client's string deserializer reads them; nil is null.
func text(b []byte) *string {
	if b == nil {
		return nil
	}
	s := strings.ToValidUTF8(string(b), "\uFFFD")
	return &s
}
