package checkpoint

import (
	"strings"

	"troupe/internal/vfs"
)

// Era is Troupe's own mark in a log directory, for the start after a process was killed:
//
//	0
//	<era>
//
// The second line is that of vfs.FS.Era. It says that all logs of the directory were open and sound in that era: as long
// as it lasts, all that was written to them since is there. The mark is not synced, since it means nothing once that
// matters.
const Era = ".troupe_era"

const eraVersion = "0\n"

// ReadEra gives what the mark says, "" without one. One that a power cut has torn says nothing that is ever true.
func ReadEra(fsys vfs.FS, name string) (string, error) {
	data, err := read(fsys, name)
	if absent(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	era, _ := strings.CutPrefix(string(data), eraVersion)
	return strings.TrimSuffix(era, "\n"), nil
}

// WriteEra replaces the mark.
func WriteEra(fsys vfs.FS, name, era string) error {
	if err := writeNew(fsys, name+suffixNew, []byte(eraVersion+era+"\n"), false); err != nil {
		return err
	}
	return fsys.Rename(name+suffixNew, name)
}

// RemoveEra is for a directory whose disk has failed: what was written there may be gone.
func RemoveEra(fsys vfs.FS, name string) error {
	if err := fsys.Remove(name); err != nil && !absent(err) {
		return err
	}
	return nil
}
