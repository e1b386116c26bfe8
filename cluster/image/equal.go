package image

import (
	"bytes"
	"iter"
	"slices"

	"troupe/cluster/record"
)

// Equal tells whether two images hold the same, whatever their offsets: a checkpoint of either would be the same.
func (i *Image) Equal(o *Image) bool {
	// Records come in a fixed order, so two walks side by side compare all.
	next, stop := iter.Pull(o.Records())
	defer stop()
	for r := range i.Records() {
		other, ok := next()
		if !ok || !equalRecords(r, other) {
			return false
		}
	}
	_, more := next()
	return !more
}

// equalRecords compares encodings, in which nil and empty lists of partitions are one.
func equalRecords(a, b record.Record) bool {
	return a.Key() == b.Key() && bytes.Equal(encoded(a), encoded(b))
}

// encoded uses the newest versions, which have every field.
func encoded(r record.Record) []byte {
	b, err := record.Append(nil, r, record.LatestMetadataVersion)
	if err != nil {
		// Every kind has a version at the latest level.
		panic(err)
	}
	return b
}

// equalTopics takes the short way where images share memory, which is nearly always.
func equalTopics(a, b *Topic) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil || a.ID != b.ID || a.Name != b.Name {
		return false
	}
	n := int32(0)
	return slices.EqualFunc(a.Partitions, b.Partitions, func(p, q *Partition) bool {
		n++
		return p == q || equalRecords(p.record(a.ID, n), q.record(a.ID, n))
	})
}
