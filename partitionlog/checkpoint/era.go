package checkpoint

import (
	"errors"
	"strings"

	"troupe/internal/vfs"
)

// Era is Troupe's own mark in a log directory, for the start after a process was killed:
//
//	0
//	<era>
//
// The second line is that of vfs.FS.Era for the mark itself. It says that all logs of the directory were open and sound in
// that era: as long as it lasts, all that was written to them since is there. It does not last for a directory that was
// copied, since the copy of the mark is another file: what was copied while it was written to may lack anything. The mark is
// not synced, since it means nothing once that matters.
const Era = ".troupe_era"

// KeptEpoch is Troupe's own file beside it: the broker epoch of the latest registration, in the form of CleanShutdown. While the
// era lasts, a broker that was killed has everything that it acknowledged in that epoch.
const KeptEpoch = ".troupe_epoch"

const eraVersion = "0\n"

// EraLasts tells whether a mark is there and its era goes on. One that a power cut has torn says nothing that is ever true.
func EraLasts(fsys vfs.FS, name string) (bool, error) {
	data, err := read(fsys, name)
	if absent(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	now, err := fsys.Era(name)
	noted, _ := strings.CutPrefix(string(data), eraVersion)
	return err == nil && now != "" && noted == now+"\n", err
}

// NoteEra replaces the mark; where the machine tells no eras it makes none.
func NoteEra(fsys vfs.FS, name string) error {
	// The file that becomes the mark is there before what it says is known.
	made := name + suffixNew
	if err := writeNew(fsys, made, nil, false); err != nil {
		return err
	}
	era, err := fsys.Era(made)
	if err != nil || era == "" {
		return errors.Join(err, fsys.Remove(made))
	}
	if err := writeNew(fsys, made, []byte(eraVersion+era+"\n"), false); err != nil {
		return err
	}
	return fsys.Rename(made, name)
}

// RemoveEra is for a directory whose disk has failed, and for a mark whose era is over.
func RemoveEra(fsys vfs.FS, name string) error {
	if err := fsys.Remove(name); err != nil && !absent(err) {
		return err
	}
	return nil
}
