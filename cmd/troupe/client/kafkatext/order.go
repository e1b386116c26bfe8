package kafkatext

import (
	"sort"
	"unicode/utf16"

	"troupe/internal/model"
)

// HashOrder sorts keys as a java.util.HashMap filled with them in this order iterates: several scripts print in that
// order. capacity is what the map was made with (0: the default of 16).
func HashOrder(keys []string, capacity int) []string {
	return HashOrderBy(keys, capacity, func(s string) int32 { return StringHash(s) })
}

// HashOrderBy is HashOrder for keys of any type with Java's hash code of them.
func HashOrderBy[K any](keys []K, capacity int, hash func(K) int32) []K {
	// Java's tables are powers of two, and are doubled when they are three quarters full.
	size := 16
	if capacity > 0 {
		for size = 1; size < capacity; size <<= 1 {
		}
	}
	for len(keys) > size*3/4 { // the load factor; a table of one or two doubles before its second or third key
		size <<= 1
	}
	bucket := func(k K) uint32 {
		// HashMap folds the upper half of a hash into the lower one, since only the lower bits choose the bucket.
		h := uint32(hash(k))
		return (h ^ h>>16) & uint32(size-1)
	}
	// Within a bucket keys stay in the order they were put in, which a doubling keeps.
	out := append([]K(nil), keys...)
	sort.SliceStable(out, func(i, j int) bool { return bucket(out[i]) < bucket(out[j]) })
	return out
}

// StringHash is String.hashCode: over UTF-16 units, base 31.
func StringHash(s string) int32 {
	var h int32
	for _, u := range utf16.Encode([]rune(s)) {
		h = 31*h + int32(u)
	}
	return h
}

// PartitionHash is TopicPartition.hashCode.
func PartitionHash(topic string, partition int32) int32 {
	return 31*(31+partition) + StringHash(topic)
}

// HashOrderPartitions sorts partitions as a HashMap of TopicPartition iterates that was made without a capacity.
func HashOrderPartitions(partitions []model.TopicPartition) []model.TopicPartition {
	return HashOrderBy(partitions, 0, func(tp model.TopicPartition) int32 { return PartitionHash(tp.Topic, tp.Partition) })
}

// Repeated names the partitions that stand in a list more than once, each once, as the scripts print a HashSet of them.
func Repeated(partitions []model.TopicPartition) []string {
	seen := map[model.TopicPartition]int{}
	var again []model.TopicPartition
	for _, tp := range partitions {
		if seen[tp]++; seen[tp] == 2 {
			again = append(again, tp)
		}
	}
	names := make([]string, len(again))
	for i, tp := range HashOrderPartitions(again) {
		names[i] = tp.String()
	}
	return names
}
