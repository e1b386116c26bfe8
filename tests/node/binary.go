package node

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// BinaryVar names the environment variable with the path of a built troupe to test instead of building one.
const BinaryVar = "BROKER_BINARY"

// BuildFlagsVar names the environment variable with flags for the build, such as -race.
const BuildFlagsVar = "BROKER_BUILD_FLAGS"

// Binary gives the path of the troupe binary, which is built once a test process. Nobody removes it: the folder of
// the user's temporary files is the cache, and the go tool relinks only what changed.
var Binary = sync.OnceValues(func() (string, error) {
	if path := os.Getenv(BinaryVar); path != "" {
		return filepath.Abs(path)
	}
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "troupe-binary-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "troupe")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	args := append([]string{"build", "-o", path}, strings.Fields(os.Getenv(BuildFlagsVar))...)
	build := exec.Command("go", append(args, "./cmd/troupe")...)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build ./cmd/troupe: %w\n%s", err, out)
	}
	return path, nil
})

// moduleRoot is the folder of go.mod above the package under test.
func moduleRoot() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(out))), nil
}
