//go:build interop && linux

package chaos

import (
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/tests/node"
	"troupe/tests/wire"
)

// A filesystem of a few MiB fills up in the middle of a load: what was acknowledged before is there when it has
// grown, and the producer was told an error that it may retry.
func TestAFullDiskLosesNothingAcknowledged(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=24m"); err != nil {
		t.Fatalf("mount a small filesystem, which needs root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	broker := node.Start(t, node.Options{Dir: dir})
	p := newPartition(t, broker.Bootstrap)
	conn := wire.Dial(t, broker.Bootstrap)
	acknowledged := int64(0)
	for acknowledged < 100 {
		got := wire.On[*kmsg.ProduceResponse](conn, p.batch(512<<10)).Topics[0].Partitions[0]
		if got.ErrorCode != 0 {
			if err := kerr.TypedErrorForCode(got.ErrorCode); !err.Retriable {
				t.Errorf("the full disk is told as %v, which clients give up on", err)
			}
			break
		}
		acknowledged++
	}
	if acknowledged == 100 {
		t.Fatal("50 MiB fit into 24")
	}
	node.Eventually(t, "the broker says that the disk is full", func() bool { return strings.Contains(broker.Output(), "no space left") })
	if broker.Running() {
		broker.Kill()
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=96m"); err != nil {
		t.Fatal(err)
	}
	broker.Restart()
	conn = wire.Dial(t, broker.Bootstrap)
	node.Eventually(t, "the partition has its leader again", func() bool { return p.end(conn) >= 0 })
	if end := p.end(conn); end < acknowledged {
		t.Errorf("the log ends at %d, and %d batches were acknowledged", end, acknowledged)
	}
	load := Start(t, broker.Bootstrap, 1, nil)
	load.Await(100)
	load.Stop()
	load.Verify()
}
