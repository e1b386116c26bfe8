package checkpoint

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"troupe/internal/model"
	"troupe/internal/vfs"
)

// CleanShutdown is the mark in a log directory that all its logs were closed: {"version":0,"brokerEpoch":N}. With it
// the next start trusts the files; the broker epoch goes into the registration, since a broker that stopped uncleanly
// must leave every ISR and ELR (KIP-966).
const CleanShutdown = ".kafka_cleanshutdown"

// NoBrokerEpoch stands where the mark does not tell the epoch.
const NoBrokerEpoch model.BrokerEpoch = -1

// shutdownMark has pointers, so that a missing field is told from one that is 0.
type shutdownMark struct {
	Version     *int               `json:"version"`
	BrokerEpoch *model.BrokerEpoch `json:"brokerEpoch"`
}

// ReadCleanShutdown looks for the mark; clean is false when there is none. An empty mark, which Kafka wrote before
// 3.7, is clean with NoBrokerEpoch.
func ReadCleanShutdown(fsys vfs.FS, name string) (epoch model.BrokerEpoch, clean bool, err error) {
	data, err := read(fsys, name)
	if absent(err) {
		return NoBrokerEpoch, false, nil
	}
	if err != nil {
		return NoBrokerEpoch, false, err
	}
	epoch, err = parseCleanShutdown(name, data)
	return epoch, err == nil, err
}

// WriteCleanShutdown makes the mark. It is the last thing written: all logs are synced and closed before.
func WriteCleanShutdown(fsys vfs.FS, name string, epoch model.BrokerEpoch) error {
	return Replace(fsys, name, fmt.Appendf(nil, `{"version":0,"brokerEpoch":%d}`, epoch))
}

// RemoveCleanShutdown takes the mark away, for good: it must not outlive a crash that follows, so this comes before
// the first write to a log.
func RemoveCleanShutdown(fsys vfs.FS, name string) error {
	if err := fsys.Remove(name); err != nil && !absent(err) {
		return err
	}
	return fsys.SyncDir(filepath.Dir(name))
}

func parseCleanShutdown(name string, data []byte) (model.BrokerEpoch, error) {
	if len(data) == 0 {
		return NoBrokerEpoch, nil
	}
	var m shutdownMark
	if err := json.Unmarshal(data, &m); err != nil {
		return NoBrokerEpoch, jsonError(name, data, err)
	}
	if m.Version == nil || *m.Version != 0 {
		return NoBrokerEpoch, &FormatError{name, 1, "the version is not 0"}
	}
	if m.BrokerEpoch == nil {
		return NoBrokerEpoch, &FormatError{name, 1, "brokerEpoch is missing"}
	}
	return *m.BrokerEpoch, nil
}
