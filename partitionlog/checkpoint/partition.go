package checkpoint

import (
	"fmt"
	"strings"

	"troupe/internal/model"
	"troupe/internal/vfs"
)

// PartitionMetadata is the file that ties a partition's directory to one incarnation of its topic (KIP-516):
//
//	version: 0
//	topic_id: <uuid>
//
// Kafka writes no newline at its end.
const PartitionMetadata = "partition.metadata"

// ReadTopicID reads partition.metadata. Its absence is an error, fs.ErrNotExist: every partition has one.
func ReadTopicID(fsys vfs.FS, name string) (model.TopicID, error) {
	data, err := read(fsys, name)
	if err != nil {
		return model.TopicID{}, err
	}
	return parseTopicID(name, data)
}

// WriteTopicID replaces partition.metadata.
func WriteTopicID(fsys vfs.FS, name string, id model.TopicID) error {
	return Replace(fsys, name, appendTopicID(nil, id))
}

// PlaceTopicID makes the file and waits for no disk: a power cut may tear it, or take it back, until it and its directory
// are synced.
func PlaceTopicID(fsys vfs.FS, name string, id model.TopicID) error {
	made := name + suffixNew
	if err := writeNew(fsys, made, appendTopicID(nil, id), false); err != nil {
		return err
	}
	return fsys.Rename(made, name)
}

func appendTopicID(dst []byte, id model.TopicID) []byte {
	return fmt.Appendf(dst, "version: 0\ntopic_id: %s", id)
}

func parseTopicID(name string, data []byte) (model.TopicID, error) {
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if len(lines) != 2 {
		return model.TopicID{}, &FormatError{name, 0, fmt.Sprintf("has %d lines, want 2", len(lines))}
	}
	if version, ok := strings.CutPrefix(lines[0], "version:"); !ok || strings.TrimSpace(version) != "0" {
		return model.TopicID{}, &FormatError{name, 1, fmt.Sprintf("%q, want version: 0", lines[0])}
	}
	text, ok := strings.CutPrefix(lines[1], "topic_id:")
	if !ok {
		return model.TopicID{}, &FormatError{name, 2, fmt.Sprintf("%q, want topic_id: and a uuid", lines[1])}
	}
	id, err := model.ParseUUID(strings.TrimSpace(text))
	if err != nil {
		return model.TopicID{}, &FormatError{name, 2, err.Error()}
	}
	if id.IsZero() {
		return model.TopicID{}, &FormatError{name, 2, "the topic id is zero, which no topic has"}
	}
	return id, nil
}
