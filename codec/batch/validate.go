package batch

import (
	"errors"
	"fmt"

	"troupe/codec/compress"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// TimestampType is message.timestamp.type.
type TimestampType int8

// CreateTime keeps what producers set; LogAppendTime is the broker's clock.
const (
	CreateTime TimestampType = iota
	LogAppendTime
)

// Rules are what a topic and the version of the request ask of a produced batch.
type Rules struct {
	// ProduceVersion is the version of the Produce request: zstd came with 7 (KIP-110).
	ProduceVersion int16
	// CompactedTopic asks for a key in every record.
	CompactedTopic bool
	TimestampType  TimestampType
	// NowMs is the broker's clock; BeforeMaxMs and AfterMaxMs bound how far a CreateTime may be from it, which are
	// message.timestamp.before.max.ms and message.timestamp.after.max.ms.
	NowMs, BeforeMaxMs, AfterMaxMs int64
}

// Facts are what the walk over a valid batch found.
type Facts struct {
	// Count is the number of records, at least 1.
	Count int32
	// MaxTimestamp is the latest of the records' own timestamps in milliseconds, which the header may have wrong;
	// NoTimestamp when all are negative.
	MaxTimestamp int64
}

// RecordError is one record that breaks a rule.
type RecordError struct {
	// Index counts the records of the batch from 0.
	Index  int32
	Reason string
}

// mostRecordErrors bounds the answer to a batch in which every record is wrong.
const mostRecordErrors = 1000

// RecordsError refuses a batch for some of its records; none of the batch is stored.
type RecordsError struct {
	// Code is kerr.InvalidTimestamp when any record failed for its timestamp, else kerr.InvalidRecord (measured).
	Code kerr.Code
	// Records are the first of those that failed, in order.
	Records []RecordError
	// Keyless is how many have no key, in a compacted topic.
	Keyless int
}

// NumbersError refuses a batch whose offsets, sequence numbers or count of records cannot be.
type NumbersError struct{ why *kerr.Error }

// Error tells which.
func (e *NumbersError) Error() string { return e.why.Error() }

// Unwrap gives the error with the code.
func (e *NumbersError) Unwrap() error { return e.why }

// Error names how many records failed and the first of them.
func (e *RecordsError) Error() string {
	first := e.Records[0]
	return fmt.Sprintf("%d records of the batch were refused; record %d: %s", len(e.Records), first.Index, first.Reason)
}

// Unwrap gives the code.
func (e *RecordsError) Unwrap() error { return e.Code }

const firstZstdVersion = 7

// Produced takes the one batch that a client may send for a partition in a Produce request of version 3 and later.
// Bytes after it that make no whole batch are dropped, as Kafka drops them.
// Errors are kerr codes: what is no batch is InvalidRecord, an impossible length or magic CorruptMessage (measured).
func Produced(b []byte) (View, error) {
	v, rest, err := First(b)
	if err == nil && len(rest) == 0 {
		return v, nil
	}
	return onlyOne(v, rest, err)
}

// onlyOne says what is wrong with a batch, or with what follows it.
func onlyOne(v View, rest []byte, err error) (View, error) {
	if err == nil {
		var second error
		if _, _, second = First(rest); second == nil || errors.Is(second, ErrOldMagic) {
			return nil, invalid("more than one record batch for the partition")
		}
		if !errors.Is(second, ErrIncomplete) {
			err = second
		}
	}
	var corrupt *CorruptError
	switch {
	case errors.Is(err, ErrOldMagic):
		return nil, invalid("record batches must have magic 2")
	case errors.As(err, &corrupt):
		return nil, &kerr.Error{Code: kerr.CorruptMessage, Detail: corrupt.Reason}
	case err != nil:
		return nil, invalid("no whole record batch for the partition")
	}
	return v, nil
}

// Validate checks a batch from a producer as Kafka's leader does before it assigns offsets, and changes nothing; Stamp
// does that afterwards. The size against max.message.bytes is the caller's. It allocates only to refuse or to decompress.
// Errors are kerr codes: *kerr.Error or *RecordsError.
func Validate(v View, r Rules) (Facts, error) {
	switch {
	case v.Codec() == compress.Zstd && r.ProduceVersion < firstZstdVersion:
		return Facts{}, &kerr.Error{Code: kerr.UnsupportedCompressionType, Detail: "zstd needs Produce version 7"}
	case v.BaseOffset() != 0:
		return Facts{}, misnumbered(kerr.InvalidRecord, "the base offset is %d, not 0", v.BaseOffset())
	case v.CheckCRC() != nil:
		return Facts{}, &kerr.Error{Code: kerr.CorruptMessage, Detail: "the checksum of the record batch does not match"}
	}
	if err := checkHeader(v); err != nil {
		return Facts{}, err
	}
	w := walk{view: v, rules: r, facts: Facts{Count: v.Count(), MaxTimestamp: NoTimestamp}, base: v.BaseTimestamp()}
	if w.stamped = v.LogAppendTime(); w.stamped {
		w.base = v.MaxTimestamp()
	}
	if v.Codec() == compress.None {
		c := cursor{buf: v.Payload()}
		return w.run(&c)
	}
	c, err := openCursor(v)
	if err != nil {
		return Facts{}, unreadable(err)
	}
	defer c.close()
	return w.run(c)
}

// checkHeader holds against the rules what the checksum covers and no record tells.
func checkHeader(v View) error {
	switch count, deltas := int64(v.Count()), int64(v.LastOffsetDelta())+1; {
	case !v.Codec().Valid():
		// Kafka has no better code for this either (measured).
		return &kerr.Error{
			Code:   kerr.UnknownServerError,
			Detail: fmt.Sprintf("compression type %d does not exist", v.Attributes()&attrCodec),
		}
	case count <= 0:
		return misnumbered(kerr.InvalidRecord, "the batch has %d records", count)
	case deltas != count:
		return misnumbered(kerr.InvalidRecord, "the offsets are for %d records, but there are %d", deltas, count)
	case v.Control():
		return misnumbered(kerr.InvalidRecord, "clients may not write control records")
	case v.ProducerID() > model.NoProducerID && v.BaseSequence() < 0:
		return misnumbered(kerr.InvalidRecord, "producer %d has the sequence number %d", v.ProducerID(), v.BaseSequence())
	}
	return nil
}

func invalid(format string, args ...any) error {
	return &kerr.Error{Code: kerr.InvalidRecord, Detail: fmt.Sprintf(format, args...)}
}

// misnumbered is what Kafka counts as an invalid offset or sequence; a control batch is among them.
func misnumbered(code kerr.Code, format string, args ...any) error {
	return &NumbersError{&kerr.Error{Code: code, Detail: fmt.Sprintf(format, args...)}}
}

// unreadable turns what a cursor met into the code of the answer. Records that break their format are the client's fault;
// for a block that cannot be decompressed Kafka has no code (measured).
func unreadable(err error) error {
	switch {
	case errors.Is(err, compress.ErrTooLarge):
		return &kerr.Error{Code: kerr.MessageTooLarge, Detail: err.Error()}
	case errors.As(err, new(*compress.CorruptError)):
		return &kerr.Error{Code: kerr.UnknownServerError, Detail: err.Error()}
	}
	return &kerr.Error{Code: kerr.InvalidRecord, Detail: err.Error()}
}

// walk goes over the records of one batch.
type walk struct {
	view  View
	rules Rules
	facts Facts
	// stamped tells that the producer set LogAppendTime; base is then the time of every record, else what the records'
	// timestamps are relative to.
	stamped bool
	base    int64
	refused *RecordsError
	// gap is the first record whose offset is not the one the leader would assign, plus 1.
	gap int32
}

func (w *walk) run(c *cursor) (Facts, error) {
	var r fields
	for i := range w.facts.Count {
		if err := c.next(&r, false); err != nil {
			return Facts{}, unreadable(err)
		}
		if r.offsetDelta != i && w.gap == 0 {
			w.gap = i + 1
		}
		w.check(i, &r)
	}
	if err := w.view.ended(c); err != nil {
		return Facts{}, unreadable(err)
	}
	switch {
	case w.refused != nil:
		return Facts{}, w.refused
	case w.gap != 0 && c.from != nil:
		// Kafka looks at the offsets of compressed batches only, and answers with this code (measured).
		return Facts{}, misnumbered(kerr.UnknownServerError, "the offset of record %d in the batch is not %d", w.gap-1, w.gap-1)
	}
	return w.facts, nil
}

// check holds one record against the rules.
func (w *walk) check(i int32, r *fields) {
	timestamp := w.base
	if !w.stamped {
		timestamp += r.timestampDelta
	}
	w.facts.MaxTimestamp = max(w.facts.MaxTimestamp, timestamp)
	switch {
	case w.rules.CompactedTopic && !r.keyed:
		w.refuse(i, kerr.InvalidRecord, "a compacted topic takes no record without a key")
		w.refused.Keyless++
	case w.rules.TimestampType == LogAppendTime:
		// A producer that sets the type itself is refused where the broker would set it, and only there (measured).
		if w.stamped {
			w.refuse(i, kerr.InvalidTimestamp, "producers may not set the timestamp type LogAppendTime")
		}
	case timestamp != NoTimestamp && !w.rules.near(timestamp):
		w.refuse(i, kerr.InvalidTimestamp, fmt.Sprintf("timestamp %d is too far from the broker's clock %d",
			timestamp, w.rules.NowMs))
	}
}

// near tells whether a timestamp lies within the bounds; differences are unsigned, so that none overflows.
func (r *Rules) near(timestamp int64) bool {
	if timestamp <= r.NowMs {
		return uint64(r.NowMs)-uint64(timestamp) <= uint64(r.BeforeMaxMs)
	}
	return uint64(timestamp)-uint64(r.NowMs) <= uint64(r.AfterMaxMs)
}

func (w *walk) refuse(i int32, code kerr.Code, reason string) {
	if w.refused == nil {
		w.refused = &RecordsError{Code: code}
	}
	if code == kerr.InvalidTimestamp {
		w.refused.Code = code
	}
	if len(w.refused.Records) < mostRecordErrors {
		w.refused.Records = append(w.refused.Records, RecordError{Index: i, Reason: reason})
	}
}

// Stamp writes into a batch that passed Validate the timestamps under which it is stored.
func Stamp(v View, r Rules, f Facts) {
	switch {
	case r.TimestampType == LogAppendTime:
		v.SetLogAppendTime(r.NowMs)
	case v.LogAppendTime():
		v.setTime(v.Attributes()&^attrLogAppendTime, f.MaxTimestamp)
	default:
		v.SetMaxTimestamp(f.MaxTimestamp)
	}
}
