package checkpoint

import (
	"fmt"
	"time"

	"troupe/internal/model"
	"troupe/internal/vfs"
)

// MetaFile stands in every log directory and says to which cluster, node and directory it belongs.
const MetaFile = "meta.properties"

// MetaProperties is its content. Version 1 is KRaft's; version 0, of the time of ZooKeeper, says broker.id for node.id
// and need not have any of the ids.
type MetaProperties struct {
	Version     int
	ClusterID   string            // "" when version 0 does not tell
	NodeID      model.BrokerID    // NoBroker likewise
	DirectoryID model.DirectoryID // zero in a directory formatted before 3.7 (KIP-858)
}

// ReadMetaProperties reads the file; ok is false when there is none: the directory was not formatted.
func ReadMetaProperties(fsys vfs.FS, name string) (m MetaProperties, ok bool, err error) {
	data, err := read(fsys, name)
	if absent(err) {
		return MetaProperties{}, false, nil
	}
	if err != nil {
		return MetaProperties{}, false, err
	}
	m, err = parseMetaProperties(name, data)
	return m, err == nil, err
}

// WriteMetaProperties replaces the file, in version 1. The time goes into its comment, as Java's Properties have it.
func WriteMetaProperties(fsys vfs.FS, name string, m MetaProperties, now time.Time) error {
	return Replace(fsys, name, appendMetaProperties(nil, m, now))
}

func appendMetaProperties(dst []byte, m MetaProperties, now time.Time) []byte {
	dst = fmt.Appendf(dst, "#\n#%s\nnode.id=%d\n", now.Format(time.UnixDate), m.NodeID)
	if !m.DirectoryID.IsZero() {
		dst = fmt.Appendf(dst, "directory.id=%s\n", m.DirectoryID)
	}
	return fmt.Appendf(dst, "version=1\ncluster.id=%s\n", escapeProperty(m.ClusterID))
}

func parseMetaProperties(name string, data []byte) (MetaProperties, error) {
	props, err := parseProperties(name, data)
	if err != nil {
		return MetaProperties{}, err
	}
	m := MetaProperties{NodeID: model.NoBroker, ClusterID: props["cluster.id"].value}
	version, err := props.number(name, "version")
	if err != nil {
		return MetaProperties{}, err
	}
	// A version 0 file comes from a broker of ZooKeeper's time; what it lacks the caller compares with nothing.
	idKey := "node.id"
	switch version {
	case 0:
		idKey = "broker.id"
	case 1:
		if m.ClusterID == "" {
			return MetaProperties{}, &FormatError{name, 0, "cluster.id is missing"}
		}
	default:
		return MetaProperties{}, &FormatError{name, props["version"].line, fmt.Sprintf("version %d, want 0 or 1", version)}
	}
	m.Version = int(version)
	if _, has := props[idKey]; has || version == 1 {
		id, err := props.number(name, idKey)
		if err != nil {
			return MetaProperties{}, err
		}
		m.NodeID = model.BrokerID(id)
	}
	if p, has := props["directory.id"]; has {
		if m.DirectoryID, err = model.ParseUUID(p.value); err != nil {
			return MetaProperties{}, &FormatError{name, p.line, "directory.id: " + err.Error()}
		}
	}
	return m, nil
}
