package api

import (
	"fmt"
	"testing"
	"unique"

	"pgregory.net/rapid"
)

// The index against a map, through any sequence of additions and removals; the set gives keys again, as it does.
func TestTheIndexFindsWhatWasPutInAndNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var set fetchSet
		var index partIndex
		want := map[partKey]*fetchPart{}
		draw := func() partKey {
			topic := topicName{name: fmt.Sprint("t", rapid.IntRange(0, 3).Draw(t, "topic"))}
			return partKey{unique.Make(topic), rapid.Int32Range(0, 20).Draw(t, "partition")}
		}
		for range rapid.IntRange(0, 300).Draw(t, "steps") {
			k := draw()
			if p := want[k]; p != nil && rapid.Bool().Draw(t, "remove") {
				index.remove(set.parts, p)
				set.drop(p)
				delete(want, k)
			} else if p == nil {
				p = &fetchPart{topic: k.topic, partition: k.partition}
				set.add(p)
				index.put(set.parts, p)
				want[k] = p
			}
			if got := index.find(set.parts, k); got != want[k] || index.n != len(want) {
				t.Fatalf("%v: found %v of %d, want %v of %d", k, got, index.n, want[k], len(want))
			}
		}
		for k, p := range want {
			if index.find(set.parts, k) != p {
				t.Fatalf("%v is not found", k)
			}
		}
	})
}
