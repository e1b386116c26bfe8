package partitionlog

import (
	"troupe/codec/batch"
	"troupe/internal/model"
	"troupe/partitionlog/producer"
)

func New(env *Env, dir string, tp model.TopicPartition, cfg Config, topic model.TopicID) *Log {
	panic("skeleton")
}
func Open(env *Env, dir string, tp model.TopicPartition, cfg Config, p OpenParams) (*Log, Recovery, error) {
	panic("skeleton")
}

type Log struct{}

func (l *Log) Stage(v batch.View, o StageOptions) (Staged, *Job, error) { panic("skeleton") }

// Done applies a job's outcome. Jobs of one log are given back in the order they were made, per kind.
func (l *Log) Done(j *Job, err error)                                         { panic("skeleton") }
func (l *Log) Err() error                                                     { panic("skeleton") }
func (l *Log) Create() *Job                                                   { panic("skeleton") }
func (l *Log) Flush() *Job                                                    { panic("skeleton") }
func (l *Log) Background(nowMs int64) []*Job                                  { panic("skeleton") }
func (l *Log) Retention(nowMs int64) *Job                                     { panic("skeleton") }
func (l *Log) DeleteRecordsTo(o model.Offset) error                           { panic("skeleton") }
func (l *Log) TruncateTo(o model.Offset) *Job                                 { panic("skeleton") }
func (l *Log) Reset(end, start model.Offset) *Job                             { panic("skeleton") }
func (l *Log) Close() *Job                                                    { panic("skeleton") }
func (l *Log) Delete(unique model.UUID) *Job                                  { panic("skeleton") }
func (l *Log) SetConfig(cfg Config)                                           { panic("skeleton") }
func (l *Log) SetHighWatermark(o model.Offset)                                { panic("skeleton") }
func (l *Log) AssignEpoch(e model.LeaderEpoch)                                { panic("skeleton") }
func (l *Log) ExpireProducers(nowMs, afterMs int64) int                       { panic("skeleton") }
func (l *Log) Producers() []producer.Entry                                    { panic("skeleton") }
func (l *Log) View() *View                                                    { panic("skeleton") }
func (l *Log) LogStart() model.Offset                                         { panic("skeleton") }
func (l *Log) LogEnd() model.Offset                                           { panic("skeleton") }
func (l *Log) StagedEnd() model.Offset                                        { panic("skeleton") }
func (l *Log) HighWatermark() model.Offset                                    { panic("skeleton") }
func (l *Log) LastStable() model.Offset                                       { panic("skeleton") }
func (l *Log) RecoveryPoint() model.Offset                                    { panic("skeleton") }
func (l *Log) Flushed() model.Offset                                          { panic("skeleton") }
func (l *Log) Size() int64                                                    { panic("skeleton") }
func (l *Log) Dir() string                                                    { panic("skeleton") }
func (l *Log) TopicID() model.TopicID                                         { panic("skeleton") }
func (l *Log) LatestEpoch() model.LeaderEpoch                                 { panic("skeleton") }
func (l *Log) EpochEnd(e model.LeaderEpoch) (model.LeaderEpoch, model.Offset) { panic("skeleton") }

// Kind says which lane a Job is for.
type Kind uint8

const (
	KindAppend Kind = iota
	KindFsync
	KindBulk
)

type Job struct {
	Kind Kind
}

func (j *Job) Run() error { panic("skeleton") }

// Bytes is what an append writes.
func (j *Job) Bytes() int64 { panic("skeleton") }

// RunAppends runs append jobs, in the order they were staged, with one vectored write for neighbours of one file.
// The result is parallel to jobs.
func RunAppends(jobs []*Job) []error { panic("skeleton") }

type View struct {
	TopicID       model.TopicID
	LogStart      model.Offset
	HighWatermark model.Offset
	LastStable    model.Offset
	LogEnd        model.Offset
	LatestEpoch   model.LeaderEpoch
}

func (v *View) Read(from, upTo model.Offset, maxBytes int, atLeastOne bool) (Region, error) {
	panic("skeleton")
}
func (v *View) Aborted(from, to model.Offset) ([]AbortedTxn, error) { panic("skeleton") }
func (v *View) OffsetForTime(timestampMs int64, limit model.Offset) (Found, bool, error) {
	panic("skeleton")
}
func (v *View) MaxTimestamp(limit model.Offset) (Found, bool, error)           { panic("skeleton") }
func (v *View) EpochEnd(e model.LeaderEpoch) (model.LeaderEpoch, model.Offset) { panic("skeleton") }
func (r Region) Release()                                                      { panic("skeleton") }
