package integration

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"troupe/tests/node"
	"troupe/tests/wire"
)

// offsetsLog is the only segment of the only partition that groupSettings leave to the topic of offsets.
const offsetsLog = "__consumer_offsets-0/00000000000000000000.log"

// lastBatch finds where the last batch of a log begins, and its offset.
func lastBatch(log []byte) (at int, offset uint64) {
	for next := 0; next+wire.AtRecords <= len(log); {
		size := int(binary.BigEndian.Uint32(log[next+wire.AtBatchLength:]))
		if size == 0 {
			break // allocated beforehand
		}
		at, offset = next, binary.BigEndian.Uint64(log[next:])
		next += 12 + size
	}
	return at, offset
}

// Apache Kafka 4.3.1 says that it does not coordinate these groups, to every request, as long as the damage lasts.
func TestAPartitionOfOffsetsThatCannotBeReadIsNotCoordinated(t *testing.T) {
	damages := map[string]func(batch []byte){
		"a bit of a record": func(b []byte) { b[len(b)-20] ^= 1 },
		"the length of a record, with a checksum that is right": func(b []byte) {
			b[wire.AtRecords] = 0x7f
			wire.Sealed(b)
		},
	}
	for title, damage := range damages {
		t.Run(title, func(t *testing.T) {
			n := node.Start(t, node.Options{Set: groupSettings})
			awaitCoordinator(t, n.Bootstrap)
			there := createTopic(t, n.Bootstrap, 1)
			simple := newMember(t, n.Bootstrap, "g")
			for i := range int64(3) {
				expectCode(t, simple.commit(8, there.name, i), 0)
			}
			n.Terminate()
			file := filepath.Join(n.Dir, offsetsLog)
			log, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			whole := append([]byte(nil), log...)
			at, offset := lastBatch(log)
			damage(log[at : at+12+int(binary.BigEndian.Uint32(log[at+wire.AtBatchLength:]))])
			if err := os.WriteFile(file, log, 0o644); err != nil {
				t.Fatal(err)
			}
			n.Restart()
			refused := kerr.NotCoordinator.Code
			c := wire.Dial(t, n.Bootstrap)
			node.Eventually(t, "the loading has failed", func() bool { return fetchOffset(c, "g", there.name).ErrorCode == refused })
			m := newMember(t, n.Bootstrap, "g")
			m.id, m.generation = "m", 1
			got := codes{m.tryJoin().ErrorCode, m.sync().ErrorCode, m.heartbeat(), m.leave(), m.commit(8, there.name, 9), m.commit(9, there.name, 9)}
			if want := (codes{refused, refused, refused, refused, refused, refused}); got != want {
				t.Errorf("answered %+v, want %+v", got, want)
			}
			expectCode(t, describeGroup(c, "g").ErrorCode, refused)
			line := "partition=__consumer_offsets-0 offset=" + fmt.Sprint(offset)
			node.Eventually(t, "the log has "+line, func() bool { return strings.Contains(n.Output(), line) })
			if strings.Count(n.Output(), line) > 1 {
				t.Errorf("more than one line of the log has %q", line)
			}
			// A mended file needs no restart.
			if err := os.WriteFile(file, whole, 0o644); err != nil {
				t.Fatal(err)
			}
			node.Eventually(t, "the partition is loaded", func() bool { return fetchOffset(c, "g", there.name).Offset == 2 })
		})
	}
}
