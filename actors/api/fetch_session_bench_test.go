package api

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// What a session keeps of a partition, the watch in its replica included: 100 sessions over the same 1,000 partitions, in
// the shapes that clients have. Requests are decoded from bytes, as a connection does it: their strings are their own.
func BenchmarkBytesAPartitionOfASession(b *testing.B) {
	for _, c := range []struct {
		title              string
		topics, partitions int
		version            int16
	}{
		{"1 topic, by name", 1, 1000, byName}, {"1,000 topics, by name", 1000, 1, byName}, {"1,000 topics, by id", 1000, 1, 13},
	} {
		b.Run(c.title, func(b *testing.B) {
			const sessions = 100
			for b.Loop() {
				w := newWorld(b)
				req := kmsg.NewPtrFetchRequest()
				req.Version, req.MinBytes, req.MaxBytes, req.SessionEpoch = c.version, 1, 1<<20, sessionNew
				for i := range c.topics {
					t := kmsg.NewFetchRequestTopic()
					t.Topic = fmt.Sprintf("topic-with-a-name-%d", i)
					t.TopicID = [16]byte{1, byte(i >> 8), byte(i)}
					w.topicOfID(t.TopicID, t.Topic, c.partitions)
					for p := range c.partitions {
						part := kmsg.NewFetchRequestTopicPartition()
						part.Partition, part.PartitionMaxBytes = int32(p), 1<<20
						t.Partitions = append(t.Partitions, part)
					}
					req.Topics = append(req.Topics, t)
				}
				wire := req.AppendTo(nil)
				before := heap()
				for range sessions {
					decoded := kmsg.NewPtrFetchRequest()
					decoded.Version = c.version
					if err := decoded.ReadFrom(wire); err != nil {
						b.Fatal(err)
					}
					if id := ask[*kmsg.FetchResponse](w, decoded, c.version).SessionID; id == 0 {
						b.Fatal("no session")
					}
				}
				if held, _ := w.node.Sessions.Count(); held != sessions {
					b.Fatalf("%d sessions are held", held)
				}
				b.ReportMetric(float64(heap()-before)/sessions/1000, "B/partition")
				runtime.KeepAlive(w)
			}
		})
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
