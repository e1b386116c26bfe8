package offsets

import (
	"testing"

	"troupe/internal/model"
)

func TestTimesHaveNamesAndNumbers(t *testing.T) {
	for text, want := range map[string]int64{
		"latest": -1, "earliest": -2, "max-timestamp": -3, "earliest-local": -4, "latest-tiered": -5, "earliest-pending-upload": -6,
		"-2": -2, "1700000000000": 1700000000000,
	} {
		if got, err := parseTime(text); err != nil || got != want {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
}

func TestARuleSelectsPartitionsByTopicAndRange(t *testing.T) {
	selected, err := parseRules("orders:1,pay.*:0-2,users:5-,:7,logs:-1,all")
	if err != nil {
		t.Fatal(err)
	}
	for tp, want := range map[model.TopicPartition]bool{
		{Topic: "orders", Partition: 1}: true, {Topic: "orders", Partition: 0}: false,
		{Topic: "payments", Partition: 1}: true, {Topic: "payments", Partition: 2}: false, // the upper bound is left out
		{Topic: "users", Partition: 9}: true, {Topic: "users", Partition: 4}: false,
		{Topic: "anything", Partition: 7}: true,
		{Topic: "logs", Partition: 0}:     true, {Topic: "logs", Partition: 1}: false,
		{Topic: "all", Partition: 3}: true, {Topic: "allx", Partition: 3}: false,
	} {
		if selected(tp) != want {
			t.Errorf("%s: %t", tp, !want)
		}
	}
}
