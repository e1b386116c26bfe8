package replicaverification

import (
	"bytes"
	"strings"
	"testing"

	"troupe/cmd/troupe/client/option"
	"troupe/codec/batch"
	"troupe/internal/model"
)

// written gives batches of one record each, at the offsets given.
func written(t *testing.T, values map[int64]string, offsets ...int64) []byte {
	var out []byte
	for _, at := range offsets {
		view, err := batch.NewBuilder(batch.Options{BaseOffset: model.Offset(at)}).Add(batch.Record{Value: []byte(values[at])}).Build()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, view...)
	}
	return out
}

func TestReplicasAreComparedUpToTheHighWatermark(t *testing.T) {
	tp := model.TopicPartition{Topic: "a"}
	same := map[int64]string{0: "x", 1: "y", 2: "z"}
	for _, c := range []struct {
		title       string
		one, other  copyOf
		next        int64
		says        string
		endsCommand bool
	}{
		{"all alike", copyOf{1, 3, written(t, same, 0, 1, 2)}, copyOf{2, 3, written(t, same, 0, 1, 2)}, 3, "", false},
		{"one has less", copyOf{1, 3, written(t, same, 0, 1, 2)}, copyOf{2, 3, written(t, same, 0, 1)}, 2, "", false},
		{"one knows less to be committed", copyOf{1, 3, written(t, same, 0, 1, 2)}, copyOf{2, 1, written(t, same, 0, 1, 2)}, 1, "", false},
		{"a batch that is cut off", copyOf{1, 3, written(t, same, 0, 1)[:70]}, copyOf{2, 3, written(t, same, 0, 1)}, 1, "", false},
		{
			"another record", copyOf{1, 2, written(t, same, 0, 1)}, copyOf{2, 2, written(t, map[int64]string{0: "x", 1: "other"}, 0, 1)}, 2,
			"partition a-0 has unmatched checksum at offset 1; replica 1's checksum ", false,
		},
		{"another offset", copyOf{1, 3, written(t, same, 0, 1)}, copyOf{2, 3, written(t, same, 0, 2)}, 1, "partition a-0: replica 1's offset 1 doesn't match replica 2's offset 2\n", true},
	} {
		t.Run(c.title, func(t *testing.T) {
			var out bytes.Buffer
			v := &verification{orders: &orders{}, streams: option.Streams{Out: &out}, next: map[model.TopicPartition]int64{}}
			err := v.compare(tp, []copyOf{c.one, c.other})
			if (err != nil) != c.endsCommand || v.next[tp] != c.next || !strings.Contains(out.String(), c.says) || c.says == "" && out.Len() > 0 {
				t.Errorf("alike up to %d, %v, said %q; want %d and %q", v.next[tp], err, &out, c.next, c.says)
			}
		})
	}
}
