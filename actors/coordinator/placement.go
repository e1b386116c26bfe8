package coordinator

import "unicode/utf16"

// PartitionFor is the partition that coordinates a group, transactional id or share key: Java's String.hashCode over
// UTF-16 units, without its sign, modulo the number of partitions (facts/groups-txn.md, A).
func PartitionFor(key string, partitions int) int32 {
	var h int32
	for _, r := range key {
		if r1, r2 := utf16.EncodeRune(r); r1 != 0xfffd {
			h = 31*(31*h+r1) + r2
			continue
		}
		h = 31*h + r
	}
	return (h & 0x7fffffff) % int32(partitions)
}
