package localcluster

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// keyFile keeps the key of gossip for the next run: a node that is started by hand meanwhile has to know the same one.
const keyFile = "gossip.key"

// gossipKey reads the key, or draws one. A key that somebody has spoiled is refused with its name, as any other value.
func gossipKey(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, keyFile))
	if errors.Is(err, fs.ErrNotExist) {
		var b [32]byte
		rand.Read(b[:]) // never fails
		return base64.StdEncoding.EncodeToString(b[:]), nil
	}
	return strings.TrimSpace(string(text)), err
}

// keepKey is for the next run. Nobody else may read it.
func keepKey(dir, key string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, keyFile), []byte(key+"\n"), 0o600)
}
