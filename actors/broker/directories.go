package broker

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"troupe/actors/founding"
	"troupe/actors/metadata"
	"troupe/configs"
	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog"
	"troupe/partitionlog/checkpoint"
)

// directory is a log directory at the start, before anything in it is opened.
type directory struct {
	path       string
	id         model.DirectoryID
	lock       io.Closer
	clean      bool // every log was closed at the last stop
	kept       bool // if not, nothing that was written since is missing
	cleanEpoch model.BrokerEpoch
	keptEpoch  model.BrokerEpoch // the last one that was noted; it counts only if kept
	logs       []model.TopicPartition
	topics     map[model.TopicPartition]model.TopicID // of those that another directory has too
	doomed     []string                               // directories of deleted logs that a crash left behind
	strays     []string                               // directories of logs that an earlier start set aside
	recovery   map[model.TopicPartition]model.Offset
	starts     map[model.TopicPartition]model.Offset
	watermarks map[model.TopicPartition]model.Offset
	cleaned    map[model.TopicPartition]model.Offset
}

// .lock and meta.properties are Kafka's names: its broker and this one keep one another out, and know whose files they are.
const (
	lockFile       = ".lock"
	metaProperties = checkpoint.MetaFile
	// metadataLog is the directory of the metadata log, which is no topic of the image.
	metadataLog = "__cluster_metadata-0"
)

var metadataPartition = model.TopicPartition{Topic: "__cluster_metadata"}

// identity is what meta.properties of all directories agree on.
type identity struct {
	clusterID string
	source    string // the directory that says so; empty for none
	created   bool   // by this start
	past      founding.Past
	begun     []partitionlog.Move // of logs between the directories, by a process before this one
	orphans   []partitionlog.Move // of those whose log is nowhere
}

// openDirectories locks the log directories and finds out whose they are. What it has locked is unlocked on error. search,
// when set, brings a node to its cluster whose metadata directory is new.
func openDirectories(fsys vfs.FS, cfg *configs.Broker, clusterID string, now time.Time, search func() (founding.Found, error)) (dirs []*directory, id identity, err error) {
	defer func() {
		if err != nil {
			unlock(dirs)
		}
	}()
	// Locked in the order of the configuration, all of them before anything is written to one.
	paths := append([]string(nil), cfg.LogDirs...)
	if !slices.Contains(paths, cfg.MetadataDir) {
		paths = append(paths, cfg.MetadataDir)
	}
	found := make([]checkpoint.MetaProperties, len(paths))
	known := make([]bool, len(paths))
	for i, path := range paths {
		d, err := lockDirectory(fsys, path)
		if err != nil {
			return dirs, id, err
		}
		dirs = append(dirs, d)
		if found[i], known[i], err = checkpoint.ReadMetaProperties(fsys, filepath.Join(path, metaProperties)); err != nil {
			return dirs, id, err
		}
	}
	// All directories are read before the first is claimed: a wrong one must not leave its mark on the others.
	if id, err = agree(paths, found, known, cfg.NodeID, clusterID); err != nil {
		return dirs, id, err
	}
	at := slices.Index(paths, cfg.MetadataDir)
	if search != nil && !known[at] {
		if err := id.seek(search, dirs[at]); err != nil {
			return dirs, id, err
		}
	}
	id.draw()
	if id.begun, id.orphans, err = partitionlog.SettleMoves(fsys, paths); err != nil {
		return dirs, id, err
	}
	for i, d := range dirs {
		if err := d.claim(fsys, found[i], known[i], id.clusterID, cfg.NodeID, now); err != nil {
			return dirs, id, err
		}
	}
	if id.past, err = founding.Remember(fsys, cfg.MetadataDir, id.clusterID); err != nil {
		return dirs, id, err
	}
	return dirs, id, tellApart(fsys, dirs)
}

// seek looks for the cluster. A new disk among old ones must not take them to another one.
func (id *identity) seek(search func() (founding.Found, error), metadata *directory) error {
	found, err := search()
	if err != nil {
		return err
	}
	if id.clusterID != "" && id.clusterID != found.ClusterID {
		return fmt.Errorf("the nodes at controller.quorum.bootstrap.servers are of cluster %s, but this node is of cluster %s%s: to join the other one it needs empty log directories",
			found.ClusterID, id.clusterID, id.by())
	}
	id.clusterID, id.created, metadata.id = found.ClusterID, true, found.Directory
	return nil
}

// by names the file that the cluster is known by.
func (id *identity) by() string {
	if id.source == "" {
		return ""
	}
	return fmt.Sprintf(" (%s)", filepath.Join(id.source, metaProperties))
}

// draw makes the id of a cluster that is this node's alone.
func (id *identity) draw() {
	if id.clusterID == "" {
		id.clusterID, id.created = model.RandomUUID().String(), true
	}
}

// tellApart refuses a start that finds one log in two directories, as Kafka does: one of them is out of date, and which one
// nobody but the operator knows. Topics that had the name one after the other may have left a log in each: their ids tell
// them apart.
func tellApart(fsys vfs.FS, dirs []*directory) error {
	in := map[model.TopicPartition][]*directory{}
	for _, d := range dirs {
		for _, tp := range d.logs {
			in[tp] = append(in[tp], d)
		}
	}
	for tp, of := range in {
		if len(of) < 2 {
			continue
		}
		holders := map[model.TopicID]*directory{}
		for _, d := range of {
			id, err := checkpoint.ReadTopicID(fsys, filepath.Join(d.path, tp.String(), checkpoint.PartitionMetadata))
			if other := holders[id]; other != nil || err != nil {
				return errors.Join(fmt.Errorf("the log of %s stands in %s and in %s: one broker can serve one of them; move the one away that is out of date",
					tp, of[0].path, of[1].path), err)
			}
			holders[id] = d
			if d.topics == nil {
				d.topics = map[model.TopicPartition]model.TopicID{}
			}
			d.topics[tp] = id
		}
	}
	return nil
}

// unlock gives up directories of a start that failed; another process may try then.
func unlock(dirs []*directory) {
	for _, d := range dirs {
		_ = d.lock.Close() // the lock ends with the process in any case
	}
}

// makeDurable makes a directory that a power cut does not take: each one made is synced in the one above.
func makeDurable(fsys vfs.FS, path string) error {
	if _, err := fsys.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(path)
	if err := makeDurable(fsys, parent); err != nil {
		return err
	}
	if err := fsys.MkdirAll(path, 0o755); err != nil {
		return err
	}
	return fsys.SyncDir(parent)
}

// lockDirectory makes a directory that is not there: a first start needs no preparation. The lock ends with the process,
// so that no crash leaves one behind.
func lockDirectory(fsys vfs.FS, path string) (*directory, error) {
	if err := makeDurable(fsys, path); err != nil {
		return nil, fmt.Errorf("log directory %s cannot be made: %w", path, err)
	}
	lock, err := fsys.Lock(filepath.Join(path, lockFile))
	if errors.Is(err, vfs.ErrLocked) {
		return nil, fmt.Errorf("log directory %s is in use by another process: a broker must be the only one in its directories (log.dirs)", path)
	}
	if err != nil {
		return nil, fmt.Errorf("log directory %s cannot be locked: %w", path, err)
	}
	return &directory{path: path, lock: lock}, nil
}

// agree compares what stands in the directories with each other and with the configuration.
func agree(paths []string, found []checkpoint.MetaProperties, known []bool, node model.BrokerID, clusterID string) (identity, error) {
	id := identity{clusterID: clusterID}
	for i, m := range found {
		switch {
		case !known[i]:
			continue
		case m.NodeID != node:
			return id, fmt.Errorf("log directory %s belongs to node %d (%s), but node.id is %d: start it with that number, or node %d with a directory of its own (log.dirs)",
				paths[i], m.NodeID, metaProperties, node, node)
		case id.clusterID != "" && m.ClusterID != id.clusterID:
			return id, fmt.Errorf("log directory %s belongs to cluster %s (%s), but this node is of cluster %s%s: leave out of log.dirs what is not this node's",
				paths[i], m.ClusterID, metaProperties, id.clusterID, id.by())
		}
		id.clusterID, id.source = m.ClusterID, paths[i]
	}
	return id, nil
}

// claim writes a new directory's meta.properties and reads what an old one's checkpoints say.
func (d *directory) claim(fsys vfs.FS, m checkpoint.MetaProperties, known bool, clusterID string, node model.BrokerID, now time.Time) error {
	if !known {
		if err := d.empty(fsys); err != nil {
			return err
		}
	}
	if !known || m.DirectoryID.IsZero() {
		m = checkpoint.MetaProperties{ClusterID: clusterID, NodeID: node, DirectoryID: d.id}
		if d.id.IsZero() {
			m.DirectoryID = model.RandomUUID()
		}
		if err := checkpoint.WriteMetaProperties(fsys, filepath.Join(d.path, metaProperties), m, now); err != nil {
			return fmt.Errorf("log directory %s: %w", d.path, err)
		}
	}
	d.id = m.DirectoryID
	if err := d.compareEra(fsys); err != nil || !known {
		return err
	}
	return d.scan(fsys)
}

// empty refuses to claim a directory that holds logs: meta.properties was there before the first of them. Under a new
// directory id the metadata log would wait for the voter of the old one for ever.
func (d *directory) empty(fsys vfs.FS) error {
	entries, err := fsys.ReadDir(d.path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if _, isLog := parseLogDir(e.Name()); isLog && e.IsDir() {
			return fmt.Errorf("log directory %s holds %s, but no %s that says whose it is: put the file back, or move what is there away",
				d.path, e.Name(), metaProperties)
		}
	}
	return nil
}

// scan lists the logs and reads the checkpoints. A checkpoint that cannot be read only costs a longer recovery, but it
// is damage that the operator has to know of, so it is an error.
func (d *directory) scan(fsys vfs.FS) (err error) {
	if d.cleanEpoch, d.clean, err = checkpoint.ReadCleanShutdown(fsys, filepath.Join(d.path, checkpoint.CleanShutdown)); err != nil {
		return err
	}
	for name, into := range map[string]*map[model.TopicPartition]model.Offset{
		checkpoint.RecoveryPoints: &d.recovery, checkpoint.LogStarts: &d.starts, checkpoint.HighWatermarks: &d.watermarks,
	} {
		if *into, err = checkpoint.ReadOffsets(fsys, filepath.Join(d.path, name)); err != nil {
			return err
		}
	}
	// Of a damaged one the cleaner tells, which owns it; here it only says which gaps are no loss.
	d.cleaned, _ = checkpoint.ReadOffsets(fsys, filepath.Join(d.path, checkpoint.CleanerPoints))
	entries, err := fsys.ReadDir(d.path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		d.sort(e)
	}
	return nil
}

// sort tells logs from what deletions left behind; files and directories of other names are left alone.
func (d *directory) sort(e fs.DirEntry) {
	if !e.IsDir() || e.Name() == metadataLog {
		return
	}
	if strings.HasSuffix(e.Name(), "-delete") {
		d.doomed = append(d.doomed, filepath.Join(d.path, e.Name()))
		return
	}
	if strings.HasSuffix(e.Name(), metadata.StraySuffix) {
		d.strays = append(d.strays, filepath.Join(d.path, e.Name()))
		return
	}
	if tp, ok := parseLogDir(e.Name()); ok {
		d.logs = append(d.logs, tp)
	}
}

// tellStrays reminds of logs that were set aside, in one line a start: like Kafka, this broker keeps them until somebody
// decides what they are worth (docs/operations/log-directories.md).
func (b *Broker) tellStrays() {
	var strays []string
	for _, d := range b.directories {
		strays = append(strays, d.strays...)
	}
	if len(strays) > 0 {
		b.log.Info("directories of logs that belong to no topic are kept until they are moved or deleted by hand",
			"directories", len(strays), "first", strays[0])
	}
}

// parseLogDir reads "topic-partition"; names with a further suffix (-stray, -future) contain a dot before it and do not
// end in a number.
func parseLogDir(name string) (model.TopicPartition, bool) {
	i := strings.LastIndexByte(name, '-')
	if i <= 0 {
		return model.TopicPartition{}, false
	}
	n, err := strconv.ParseInt(name[i+1:], 10, 32)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != name[i+1:] {
		return model.TopicPartition{}, false
	}
	return model.TopicPartition{Topic: name[:i], Partition: int32(n)}, true
}
