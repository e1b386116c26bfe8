package partitionlog

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"troupe/internal/model"
	"troupe/partitionlog/checkpoint"
	"troupe/partitionlog/producer"
)

// Open reads the log of a partition from its directory and repairs what a crash left (facts/storage-format.md 7): it
// finishes or drops what a cleaner was doing, checks every batch behind the recovery point, cuts off the first that is
// damaged with all that follows, and brings indexes, leader epochs and producer state up to date. A directory that is
// not there is a new log. It works on the disk for as long as that takes.
//
// RecoveryPoint may be lower than p has it; the owner has it checkpointed then before it stages a batch.
//
// Errors: those of the disk; *ForeignError, with the directory untouched; messages of format 0 or 1, which are not damage.
func Open(env *Env, dir string, tp model.TopicPartition, cfg Config, p OpenParams) (*Log, Recovery, error) {
	names, err := env.FS.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return New(env, dir, tp, cfg, p.TopicID), Recovery{}, nil
	}
	if err != nil {
		return nil, Recovery{}, err
	}
	d := &directory{fs: env.FS, path: dir, exists: true}
	d.unsynced.Store(!p.Clean) // the process that made the names may have been killed before it synced them
	l := newLog(env, d, tp, cfg, p.TopicID)
	if err := l.identify(); err != nil {
		return nil, Recovery{}, err
	}
	ld := &loader{env: env, dir: d, tp: tp, cfg: cfg, params: p, replayFrom: unchecked}
	if err := ld.load(names); err != nil {
		ld.abandon()
		return nil, ld.report, err
	}
	l.adopt(ld)
	return l, ld.report, nil
}

// identify compares partition.metadata. One that is missing, or was torn by a power cut, is written by Create: logs of
// Kafka before 2.8 have none.
func (l *Log) identify() error {
	id, err := checkpoint.ReadTopicID(l.env.FS, l.dir.file(checkpoint.PartitionMetadata))
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.As(err, new(*checkpoint.FormatError)) && !l.topic.IsZero():
		return nil
	case err != nil:
		return err
	case !l.topic.IsZero() && id != l.topic:
		return &ForeignError{Dir: l.dir.path, Found: id, Wanted: l.topic}
	}
	l.topic, l.creation = id, creationDone
	l.dir.topic = id
	l.dir.identity.Store(identityWritten) // a process that was killed may not have synced it
	return nil
}

// adopt takes over what was loaded.
func (l *Log) adopt(ld *loader) {
	l.content = ld.content
	l.maintenance = maintenance{staged: ld.unsynced}
	l.maintenance.written(l.env.Dirty, ld.unsynced)
	l.view = nil
}

// loader reads a directory into a content. It is used once, on a lane: by Open, and by a truncation, which reads what it
// has left as if after a crash. That takes longer than mending the state in memory would, but there is one way to
// come to a state, and the power cuts test it.
type loader struct {
	content

	env    *Env
	dir    *directory
	tp     model.TopicPartition
	cfg    Config
	params OpenParams
	report Recovery

	bases     []model.Offset // of the .log files, rising
	snapshots []model.Offset // rising
	present   map[fileID]*listed
	kafkas    bool         // Kafka left the log open
	trusted   model.Offset // everything before it was synced
	// written is where reading begins: batches, index entries and leader epochs before it are in the files. It is trusted,
	// or later in a log that was kept: the offset of the snapshot that ahead holds.
	written  model.Offset
	prepared []model.Offset // of the snapshots that wait for a sync, in a log that was kept
	ahead    []producer.Entry
	unsynced int64 // bytes behind trusted
	tail     mark  // the last batch that the index of the segment taken last knows, by its last offset
	removes  bool  // batches, or it comes after one that did and was killed
	// producing tells that a batch of a producer with an id was read.
	producing bool
	// replayFrom is where the producers have to be replayed from at the latest: a transaction index is damaged there.
	replayFrom model.Offset
	// noEpochs tells that leader epochs have to be gathered from all batches.
	noEpochs bool
}

// load takes the steps in the order in which each needs the one before: names, then how far they can be trusted, the leader
// epochs, the batches, and last the producers, which are replayed up to where the log turned out to end.
func (ld *loader) load(names []fs.DirEntry) error {
	if err := ld.list(names); err != nil {
		return err
	}
	if err := ld.trust(); err != nil {
		return err
	}
	if err := ld.readEpochs(); err != nil {
		return err
	}
	if err := ld.loadSegments(); err != nil {
		return err
	}
	if ld.end < ld.params.Required {
		return errors.Join(fmt.Errorf("%s: the log ends at offset %d, but it had come to %d", ld.dir.path, ld.end, ld.params.Required), ld.report.Reason)
	}
	if ld.end < ld.params.HighWatermark {
		// A power cut may do that to what was acknowledged from the page cache, and a file that was lost.
		ld.damage(fmt.Errorf("%s: the log ends at offset %d, but consumers had been given %d: records are missing", ld.tp, ld.end, ld.params.HighWatermark))
	}
	// Records were deleted up to the log start, and a power cut took more: what is left is of no use to anybody.
	if len(ld.segments) > 0 && ld.end < ld.params.LogStart {
		ld.damage(fmt.Errorf("%s: the log ends at %d, before its start %d", ld.tp, ld.end, ld.params.LogStart))
		if err := ld.restart(); err != nil {
			return err
		}
	}
	if err := ld.measureUnsynced(); err != nil {
		return err
	}
	ld.place()
	if err := ld.restoreProducers(); err != nil {
		return err // a removal that was begun keeps its mark
	}
	return ld.settleRemoval()
}

// list sorts the names, and does away with what a crash left half done.
func (ld *loader) list(names []fs.DirEntry) error {
	ld.present = make(map[fileID]*listed, len(names))
	var swaps []fileID
	lowestCleaned := model.NoOffset
	for _, e := range names {
		name, state := e.Name(), ""
		if name == removalMark {
			ld.removes = true
			continue
		}
		for _, s := range []string{suffixCleaned, suffixDeleted, suffixPrepared, suffixSwap} {
			if strings.HasSuffix(name, s) {
				state = s
			}
		}
		id, ok := parseFileID(strings.TrimSuffix(name, state))
		if !ok {
			continue // of another owner: the metadata log's directory holds raft's files too
		}
		switch state {
		case "":
			ld.present[id] = &listed{entry: e}
			continue
		case suffixSwap:
			swaps = append(swaps, id)
			continue
		case suffixCleaned:
			if lowestCleaned == model.NoOffset || id.offset < lowestCleaned {
				lowestCleaned = id.offset
			}
		case suffixPrepared:
			if ld.params.Kept {
				ld.prepared = append(ld.prepared, id.offset)
				continue
			}
		}
		if err := ld.removeName(name); err != nil {
			return err
		}
	}
	if err := ld.finishSwaps(swaps, lowestCleaned); err != nil {
		return err
	}
	return ld.sortFiles()
}

// sortFiles notes the segments and snapshots, and removes indexes that have lost their segment.
func (ld *loader) sortFiles() error {
	for id := range ld.present {
		switch _, hasLog := ld.present[fileID{offset: id.offset, suffix: suffixLog}]; {
		case id.suffix == suffixLog:
			ld.bases = append(ld.bases, id.offset)
		case id.suffix == suffixSnapshot:
			ld.snapshots = append(ld.snapshots, id.offset)
		case !hasLog:
			if err := ld.dir.remove(id); err != nil {
				return err
			}
		}
	}
	slices.Sort(ld.bases)
	slices.Sort(ld.snapshots)
	return nil
}

// removeName removes a file of any name; one that is gone already was removed by the start before.
func (ld *loader) removeName(name string) error {
	err := ld.env.FS.Remove(filepath.Join(ld.dir.path, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// damage notes the first thing that was wrong.
func (ld *loader) damage(err error) {
	if ld.report.Reason == nil {
		ld.report.Reason = err
	}
}

func (ld *loader) abandon() {
	for _, s := range ld.segments {
		s.file.forget()
		s.index.release()
	}
}
