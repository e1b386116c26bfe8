package chaos

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Verdict is what became of a load.
//
// Invariants checked by Verify, which follow from acks=all and idempotence (KIP-98):
//  1. Every acknowledged record is in the log, at the offset that it was acknowledged with: nothing is Lost.
//  2. No record is in the log twice: nothing is Repeated.
//  3. The records of one producer are in the order in which it sent them: nothing is Disordered.
//  4. No producer gave a record up, as it does for an error that must not be retried.
type Verdict struct {
	Acknowledged, Stored                int
	Lost, Repeated, Disordered, GivenUp int
	// Strange are records that were stored and that no producer of the load wrote.
	Strange int
	// Gap is the longest time between two acknowledgements of one partition.
	Gap time.Duration
}

// shown bounds how many records of one kind a test complains about one by one.
const shown = 10

// Verify reads the whole topic and checks the invariants of Verdict. The load must be stopped.
func (l *Load) Verify() Verdict {
	l.t.Helper()
	stored := l.read()
	l.mu.Lock()
	defer l.mu.Unlock()
	v := Verdict{Acknowledged: len(l.acked), Stored: len(stored)}
	for at, want := range l.acked {
		got, there := stored[at]
		if there && got == want {
			continue
		}
		if v.Lost++; v.Lost <= shown {
			l.t.Errorf("%v was acknowledged for %.20q and holds %.20q (there: %v)", at, want, got, there)
		}
	}
	for reason, n := range l.givenUp {
		v.GivenUp += n
		l.t.Errorf("%d records were given up: %s", n, reason)
	}
	for _, p := range l.pace {
		v.Gap = max(v.Gap, p.gap)
	}
	l.verifyOrder(stored, &v)
	if v.Lost > shown || v.Repeated > shown || v.Disordered > shown {
		l.t.Errorf("in all %d records are lost, %d repeated, %d not in order", v.Lost, v.Repeated, v.Disordered)
	}
	l.t.Logf("%d records acknowledged, %d stored, %v the longest time without an acknowledgement", v.Acknowledged, v.Stored, v.Gap)
	return v
}

// verifyOrder checks that in each partition the numbers of a producer rise.
func (l *Load) verifyOrder(stored map[place]string, v *Verdict) {
	l.t.Helper()
	ends := map[int32]int64{}
	for at := range stored {
		ends[at.partition] = max(ends[at.partition], at.offset+1)
	}
	for p := range l.partitions {
		last, seen := map[string]int{}, map[string]bool{}
		for offset := range ends[p] {
			value, there := stored[place{p, offset}]
			if !there {
				continue // deleted, or not a record of a producer
			}
			fields := strings.SplitN(value, ":", 3)
			if id, err := strconv.Atoi(fields[0]); err != nil || id >= l.options.Producers {
				v.Strange++
				continue
			}
			n, err := strconv.Atoi(fields[1])
			before, known := last[fields[0]]
			switch {
			case seen[value]:
				v.Repeated++
			case err != nil || known && n <= before:
				v.Disordered++
			}
			if (err != nil || known && n <= before) && v.Repeated+v.Disordered <= shown {
				l.t.Errorf("partition %d, offset %d: record %d of producer %s follows its %d", p, offset, n, fields[0], before)
			}
			last[fields[0]], seen[value] = n, true
		}
	}
}

// read gives every record of the topic.
func (l *Load) read() map[place]string {
	l.t.Helper()
	ends, err := kadm.NewClient(l.client()).ListEndOffsets(l.t.Context(), l.topic)
	if err != nil || ends.Error() != nil {
		l.t.Fatal(err, ends.Error())
	}
	left := map[int32]int64{}
	starts := map[int32]kgo.Offset{}
	ends.Each(func(end kadm.ListedOffset) {
		starts[end.Partition] = kgo.NewOffset().AtStart()
		if end.Offset > 0 {
			left[end.Partition] = end.Offset
		}
	})
	reader := l.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{l.topic: starts}))
	ctx, cancel := context.WithTimeout(l.t.Context(), patience)
	defer cancel()
	stored := map[place]string{}
	for len(left) > 0 {
		fetches := reader.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			l.t.Fatalf("read back, with %v to go: %v", left, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			stored[place{r.Partition, r.Offset}] = string(r.Value)
			if r.Offset+1 >= left[r.Partition] {
				delete(left, r.Partition)
			}
		})
	}
	return stored
}
