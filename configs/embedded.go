package configs

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// embeddedDefault is what no file means: one node for one machine, reachable from that machine alone.
func embeddedDefault() settings {
	all := settings{}
	// One broker holds one replica of each internal topic: Kafka's default of three could never be met.
	for key, value := range map[string]string{
		"process.roles":                    "broker,controller",
		"node.id":                          "1",
		"listeners":                        "PLAINTEXT://127.0.0.1:9092",
		"admin.address":                    "127.0.0.1:9644",
		"offsets.topic.replication.factor": "1",
		"transaction.state.log.replication.factor":         "1",
		"transaction.state.log.min.isr":                    "1",
		"share.coordinator.state.topic.replication.factor": "1",
		"share.coordinator.state.topic.min.isr":            "1",
	} {
		all[key] = setting{value: value, origin: embedded}
	}
	return all
}

// addDataDir completes the embedded default, unless something else says where data goes.
func (s settings) addDataDir(dir string) error {
	for _, key := range []string{"log.dirs", "log.dir"} {
		if _, set := s[key]; set {
			return nil
		}
	}
	if dir == "" {
		var err error
		if dir, err = userDataDir(); err != nil {
			return err
		}
	}
	s["log.dirs"] = setting{value: dir, origin: embedded}
	return nil
}

// userDataDir is where a program of this system keeps a user's data: XDG_DATA_HOME or ~/.local/share, ~/Library/
// Application Support on macOS, %LocalAppData% on Windows.
func userDataDir() (string, error) {
	base := os.Getenv("XDG_DATA_HOME")
	if runtime.GOOS == "windows" {
		base = os.Getenv("LocalAppData")
	}
	if filepath.IsAbs(base) {
		return filepath.Join(base, "troupe"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", errors.New("there is no home directory to keep data in; say where with --set log.dirs=DIR")
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support", "troupe"), nil
	}
	return filepath.Join(home, ".local", "share", "troupe"), nil
}
