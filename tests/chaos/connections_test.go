//go:build linux

package chaos

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/tests/node"
	"troupe/tests/wire"
)

// A crowd that says nothing costs little and disturbs nobody.
func TestTenThousandSilentConnections(t *testing.T) {
	const crowd, memory = 10_000, 250 // connections, MiB
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if limit.Max < crowd+1000 {
		t.Skipf("this machine allows %d descriptors a process; the test needs %d", limit.Max, crowd+1000)
	}
	broker := node.Start(t, node.Options{})
	load := Start(t, broker.Bootstrap, 1, nil)
	for range crowd {
		c, err := net.Dial("tcp", broker.Bootstrap)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	wire.Dial(t, broker.Bootstrap).Call(wire.Versioned(kmsg.NewPtrApiVersionsRequest(), 0))
	load.Await(1000)
	if used := resident(t, broker.PID()); used > memory {
		t.Errorf("%d MiB are resident with %d connections, want at most %d", used, crowd, memory)
	}
	load.Stop()
	load.Verify()
}

// resident reads the resident memory of a process, in MiB.
func resident(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	kib, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kib >> 10
}
