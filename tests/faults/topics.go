//go:build interop && unix

package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/tests/node"
)

// aside is a topic beside the load's: what is done to it, the load could not be judged by.
const (
	aside           = "aside"
	asidePartitions = 3
)

// create makes the topic, under a name that may have been another's until now.
func create(s *stage) {
	s.Helper()
	admin := s.admin()
	node.Eventually(s, "the name is free, and the topic is there", func() bool {
		within, cancel := context.WithTimeout(s.Context(), 5*time.Second)
		defer cancel()
		// An answer may be lost with the controller: who asks again hears that the topic is there.
		_, err := admin.CreateTopic(within, asidePartitions, int16(min(3, len(s.cluster.Nodes))), nil, aside)
		return err == nil || errors.Is(err, kerr.TopicAlreadyExists)
	})
}

// remove deletes it. Here, too, an answer may be lost.
func remove(s *stage) {
	s.Helper()
	within, cancel := context.WithTimeout(s.Context(), node.Patience)
	defer cancel()
	if _, err := s.admin().DeleteTopic(within, aside); err != nil && !errors.Is(err, kerr.UnknownTopicOrPartition) {
		s.Fatalf("delete %s: %v", aside, err)
	}
	clear(s.written)
}

// write has each partition of it acknowledge so many records, and remembers them.
func write(n int) Step {
	return func(s *stage) {
		s.Helper()
		client := s.client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.UnknownTopicRetries(-1))
		within, cancel := context.WithTimeout(s.Context(), node.Patience)
		defer cancel()
		for p := range int32(asidePartitions) {
			for range n {
				s.numbered++
				r := &kgo.Record{Topic: aside, Partition: p, Value: fmt.Append(nil, s.numbered)}
				if err := client.ProduceSync(within, r).FirstErr(); err != nil {
					s.Fatalf("record %d of %s-%d: %v", s.numbered, aside, p, err)
				}
				s.written[p] = append(s.written[p], written{r.Offset, string(r.Value)})
			}
		}
	}
}

// written is a record that was acknowledged, and where.
type written struct {
	offset int64
	value  string
}

// deleteRecords deletes all that was written so far: logs begin where they end.
func deleteRecords(s *stage) {
	s.Helper()
	within, cancel := context.WithTimeout(s.Context(), node.Patience)
	defer cancel()
	upTo := kadm.Offsets{}
	for p := range int32(asidePartitions) {
		upTo.AddOffset(aside, p, -1, -1)
	}
	resp, err := s.admin().DeleteRecords(within, upTo)
	if err != nil {
		s.Fatal(err)
	}
	resp.Each(func(r kadm.DeleteRecordsResponse) {
		s.Helper()
		if end := s.end(r.Partition); r.Err != nil || r.LowWatermark != end {
			s.Fatalf("delete the records of %s-%d up to %d: %d, %v", aside, r.Partition, end, r.LowWatermark, r.Err)
		}
		s.begins[r.Partition], s.written[r.Partition] = s.end(r.Partition), nil
	})
}

// end is the offset after the last record that was written to a partition.
func (s *stage) end(partition int32) int64 {
	if all := s.written[partition]; len(all) > 0 {
		return all[len(all)-1].offset + 1
	}
	return s.begins[partition]
}

// asWritten holds that the topic begins and ends where it should and holds what was written, no more and no less.
func asWritten(s *stage) {
	s.Helper()
	s.cluster.AwaitWhole(aside)
	admin := s.admin()
	offsets := func(what string, list func(context.Context, ...string) (kadm.ListedOffsets, error), want func(int32) int64) {
		s.Helper()
		node.Eventually(s, "every partition tells its "+what, func() bool {
			within, cancel := context.WithTimeout(s.Context(), 5*time.Second)
			defer cancel()
			listed, err := list(within, aside)
			if err != nil || listed.Error() != nil || len(listed[aside]) != asidePartitions {
				return false
			}
			listed.Each(func(o kadm.ListedOffset) {
				s.Helper()
				if o.Offset != want(o.Partition) {
					s.Errorf("%s-%d has its %s at %d, want %d", aside, o.Partition, what, o.Offset, want(o.Partition))
				}
			})
			return true
		})
	}
	offsets("start", admin.ListStartOffsets, func(p int32) int64 { return s.begins[p] })
	offsets("end", admin.ListEndOffsets, s.end)
	for p, got := range s.readAside() {
		if !slices.Equal(got, s.written[p]) {
			s.Errorf("%s-%d holds %v, want %v", aside, p, got, s.written[p])
		}
	}
}

// readAside reads all of the topic.
func (s *stage) readAside() map[int32][]written {
	s.Helper()
	total := 0
	for p := range int32(asidePartitions) {
		total += len(s.written[p])
	}
	reader := s.client(kgo.ConsumeTopics(aside), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	within, cancel := context.WithTimeout(s.Context(), node.Patience)
	defer cancel()
	found := map[int32][]written{}
	for total > 0 {
		fetches := reader.PollFetches(within)
		if err := fetches.Err(); err != nil {
			s.Fatalf("read %s, with %d records to go: %v", aside, total, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			total--
			found[r.Partition] = append(found[r.Partition], written{r.Offset, string(r.Value)})
		})
	}
	return found
}
