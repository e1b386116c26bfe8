package api

import (
	"errors"
	"fmt"

	"troupe/actors/replica"
	"troupe/codec/batch"
	"troupe/codec/compress"
	"troupe/codec/kerr"
)

// transactionsRefused is the one code for all that needs a transaction or share coordinator, which this broker does not
// have: group.version, transaction.version, share.version and streams.version are finalized at 0, so that clients that
// ask for features know.
const transactionsRefused = kerr.UnsupportedVersion

// checkBatch holds one partition's records to the rules of its topic, on the connection's goroutine: what is costly to
// check does not keep the replica from others. The bytes may be changed: the request owns them.
func (op *produceOp) checkBatch(h *replica.Handle, records []byte, at int) (batch.View, error) {
	cfg := h.Config()
	v, err := batch.Produced(records)
	if err != nil {
		return nil, err
	}
	if err := fits(v, cfg, h); err != nil {
		return nil, err
	}
	rules := cfg.Rules
	rules.ProduceVersion, rules.NowMs = op.request.Version, op.node.Clock.Now().UnixMilli()
	facts, err := batch.Validate(v, rules)
	if err != nil {
		var refused *batch.RecordsError
		if errors.As(err, &refused) {
			op.parts[at].refused = refused.Records
		}
		return nil, err
	}
	if v.Transactional() {
		return nil, op.refuseTransactional()
	}
	batch.Stamp(v, rules, facts)
	if r := cfg.Recompress; r != nil && r.Codec != v.Codec() {
		return recompress(v, r, cfg, h)
	}
	return v, nil
}

// fits holds a batch to max.message.bytes and segment.bytes.
func fits(v batch.View, cfg *replica.Config, h *replica.Handle) error {
	switch size := len(v); {
	case size > cfg.MaxBatchBytes:
		return &kerr.Error{Code: kerr.MessageTooLarge, Detail: fmt.Sprintf("the batch of %d bytes for %s is larger than max.message.bytes, %d", size, h.TP, cfg.MaxBatchBytes)}
	case size > cfg.SegmentBytes:
		return &kerr.Error{Code: kerr.RecordListTooLarge, Detail: fmt.Sprintf("the batch of %d bytes for %s is larger than segment.bytes, %d", size, h.TP, cfg.SegmentBytes)}
	}
	return nil
}

// recompress follows compression.type; what it makes is held to the same sizes.
func recompress(v batch.View, r *replica.Recompression, cfg *replica.Config, h *replica.Handle) (batch.View, error) {
	out, err := batch.Recompress(v, r.Codec, r.Level)
	switch {
	case errors.Is(err, compress.ErrTooLarge):
		return nil, &kerr.Error{Code: kerr.MessageTooLarge, Detail: err.Error()}
	case err != nil:
		return nil, err
	}
	return out, fits(out, cfg, h)
}

// refuseTransactional answers a transactional batch: without a transactional id nobody can vouch for it (measured).
func (op *produceOp) refuseTransactional() error {
	if op.body.TransactionID == nil {
		return kerr.TransactionalIDAuthorizationFailed
	}
	return &kerr.Error{Code: transactionsRefused, Detail: "transactional batches need a transaction coordinator, which this broker does not have"}
}
