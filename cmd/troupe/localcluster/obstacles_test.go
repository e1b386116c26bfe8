package localcluster

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"troupe/internal/vfs"
)

var anyPorts = map[string]string{clientPort: "127.0.0.1:0", controllerPort: "127.0.0.1:0", gossipPort: "127.0.0.1:0", adminPort: "127.0.0.1:0"}

// Another --port would have its configuration and the number of its process written over.
func TestANodeThatRunsAtOtherPortsIsInTheWay(t *testing.T) {
	n := &node{id: 1, dir: t.TempDir(), ports: anyPorts}
	if err := os.Mkdir(n.file("data"), 0o755); err != nil {
		t.Fatal(err)
	}
	lock, err := vfs.OS().Lock(filepath.Join(n.file("data"), ".lock"))
	if err != nil {
		t.Fatal(err)
	}
	if found := inTheWay([]*node{n}); len(found) != 1 || !strings.Contains(found[0].Error(), "another process works in "+n.file("data")) {
		t.Errorf("found %v", found)
	}
	if err := os.WriteFile(n.file("pid"), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if found := inTheWay([]*node{n}); len(found) != 1 || !strings.Contains(found[0].Error(), "runs already, as process "+strconv.Itoa(os.Getpid())) {
		t.Errorf("found %v", found)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if found := inTheWay([]*node{n}); len(found) > 0 {
		t.Errorf("found %v after its end", found)
	}
}

func TestAPortOfDatagramsThatAnotherHasIsNamed(t *testing.T) {
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	at := socket.LocalAddr().String()
	n := &node{id: 1, dir: t.TempDir(), ports: map[string]string{clientPort: "127.0.0.1:0", controllerPort: "127.0.0.1:0", gossipPort: at, adminPort: "127.0.0.1:0"}}
	if found := inTheWay([]*node{n}); len(found) != 1 || !strings.Contains(found[0].Error(), "gossip of node 1: "+at+" is in use") {
		t.Errorf("found %v", found)
	}
}
