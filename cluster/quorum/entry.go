package quorum

import (
	"encoding/binary"
	"fmt"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"troupe/cluster/record"
	"troupe/codec/batch"
	"troupe/internal/model"
)

// How raft entries stand in the log: index = offset + 1, term = leader epoch.
//
//	entry in memory                              record in the log
//	normal, no data                              control LEADER_CHANGE
//	normal, data = frame version 1, …            the data, a metadata record
//	normal, data = 0, type int16, value          control record of that type, as it came
//	change of voters, context = value            control KRAFT_VOTERS with the whole set after the change
//
// Consecutive entries of one epoch share a batch as long as all or none of them are control records.

// controlMark cannot begin a metadata record, whose frame version is 1.
const controlMark = 0

// Entry is a committed record: metadata, or one of the quorum's own control records.
type Entry struct {
	Offset model.Offset
	Epoch  model.LeaderEpoch
	// Record is the metadata record, nil for a control record.
	Record record.Record
	// Control is the control record, nil for a metadata record. Of a LeaderChange only the type is told.
	Control batch.ControlRecord
}

// offsetOf and indexOf: raft counts from 1, where 0 means nothing; logs count from 0.
func offsetOf(index uint64) model.Offset { return model.Offset(index) - 1 }
func indexOf(o model.Offset) uint64      { return uint64(o + 1) }

// isVoters: raft has two forms of this entry, of which it makes the older one from changes of one node.
func isVoters(e *raftpb.Entry) bool { return e.GetType() != raftpb.EntryNormal }

// isControl tells which kind of batch an entry belongs in.
func isControl(e *raftpb.Entry) bool {
	return isVoters(e) || len(e.GetData()) == 0 || e.GetData()[0] == controlMark
}

// committed turns an entry into what the log's readers see. Its errors are bugs or memory gone bad: entries are decoded
// before they are taken in.
func committed(e *raftpb.Entry) (Entry, error) {
	out := Entry{Offset: offsetOf(e.GetIndex()), Epoch: model.LeaderEpoch(e.GetTerm())}
	var err error
	switch data := e.GetData(); {
	case isVoters(e):
		var change raftpb.ConfChangeV2
		if err = proto.Unmarshal(data, &change); err == nil {
			out.Control, err = parseControl(batch.VotersType, change.GetContext())
		}
	case len(data) == 0:
		out.Control = batch.LeaderChange{}
	case data[0] == controlMark:
		out.Control, err = parseControl(batch.ControlType(binary.BigEndian.Uint16(data[1:])), data[3:])
	default:
		out.Record, err = record.Decode(data)
	}
	if err != nil {
		return out, fmt.Errorf("metadata log, offset %d: %w", out.Offset, err)
	}
	return out, nil
}

// parseControl reads the value alone: raft keeps the type, and the key follows from it.
func parseControl(t batch.ControlType, value []byte) (batch.ControlRecord, error) {
	return batch.ParseControl(controlKey(t), value)
}

// controlKey is version 0 and the type, 16 bits each.
func controlKey(t batch.ControlType) []byte {
	return binary.BigEndian.AppendUint16([]byte{0, 0}, uint16(t))
}

// votersChange is the entry data for going from one set of voters to another: what differs for raft, and the whole set
// for the log. A set that differs only in endpoints adds a voter that is there, which changes nothing for raft.
func votersChange(from, to []batch.Voter) *raftpb.ConfChangeV2 {
	change := &raftpb.ConfChangeV2{Context: batch.Voters{Voters: to}.AppendValue(nil)}
	add := func(t raftpb.ConfChangeType, k VoterKey) {
		change.Changes = append(change.Changes, &raftpb.ConfChangeSingle{Type: t.Enum(), NodeId: new(k.raftID())})
	}
	for _, v := range to {
		if findVoter(from, keyOf(v)) < 0 {
			add(raftpb.ConfChangeAddNode, keyOf(v))
		}
	}
	for _, v := range from {
		if findVoter(to, keyOf(v)) < 0 {
			add(raftpb.ConfChangeRemoveNode, keyOf(v))
		}
	}
	if len(change.Changes) == 0 && len(to) > 0 {
		add(raftpb.ConfChangeAddNode, keyOf(to[0]))
	}
	return change
}

// entriesOf gives the raft entries of a batch read from the log; voters is the set before it, and is brought up to date.
// Metadata records are decoded once here, so that a log of a newer software is refused before anything is done with it.
func entriesOf(v batch.View, voters *[]batch.Voter) ([]*raftpb.Entry, error) {
	entries := make([]*raftpb.Entry, 0, v.Count())
	err := v.Each(func(r batch.Record) error {
		e := &raftpb.Entry{Term: new(uint64(v.LeaderEpoch())), Index: new(indexOf(r.Offset))}
		if !v.Control() {
			if _, err := record.Decode(r.Value); err != nil {
				return fmt.Errorf("metadata log, offset %d: %w", r.Offset, err)
			}
			e.Data = append([]byte{}, r.Value...)
			entries = append(entries, e)
			return nil
		}
		c, err := batch.ParseControl(r.Key, r.Value)
		if err != nil {
			return fmt.Errorf("metadata log, offset %d: %w", r.Offset, err)
		}
		switch c := c.(type) {
		case batch.LeaderChange:
		case batch.Voters:
			e.Type = raftpb.EntryConfChangeV2.Enum()
			if e.Data, err = proto.Marshal(votersChange(*voters, c.Voters)); err != nil {
				return fmt.Errorf("metadata log, offset %d: %w", r.Offset, err)
			}
			*voters = c.Voters
		default:
			e.Data = append(binary.BigEndian.AppendUint16([]byte{controlMark}, uint16(c.ControlType())), r.Value...)
		}
		entries = append(entries, e)
		return nil
	})
	return entries, err
}

// batchesOf turns entries into record batches, none much larger than BatchBytesMax unless a single record is. All records
// get one timestamp, that of the write: entries do not carry one.
func (m *Machine) batchesOf(entries []*raftpb.Entry, nowMs int64) ([]batch.View, error) {
	var views []batch.View
	var b *batch.Builder
	var last *raftpb.Entry
	flush := func() error {
		if b == nil {
			return nil
		}
		v, err := b.Build()
		views, b = append(views, v), nil
		return err
	}
	for _, e := range entries {
		r, err := m.recordOf(e)
		if err != nil {
			return nil, err
		}
		if b != nil && (e.GetTerm() != last.GetTerm() || isControl(e) != isControl(last) || b.Size()+len(r.Value) > m.options.BatchBytesMax) {
			if err := flush(); err != nil {
				return nil, err
			}
		}
		if b == nil {
			b = batch.NewBuilder(batch.Options{
				BaseOffset: offsetOf(e.GetIndex()), LeaderEpoch: model.LeaderEpoch(e.GetTerm()), Control: isControl(e),
			})
		}
		r.Timestamp = nowMs
		b.Add(r)
		last = e
	}
	return views, flush()
}

// recordOf is the inverse of what entriesOf reads.
func (m *Machine) recordOf(e *raftpb.Entry) (batch.Record, error) {
	switch data := e.GetData(); {
	case isVoters(e):
		var change raftpb.ConfChangeV2
		if err := proto.Unmarshal(data, &change); err != nil {
			return batch.Record{}, fmt.Errorf("change of voters at offset %d: %w", offsetOf(e.GetIndex()), err)
		}
		value := change.GetContext()
		if len(value) == 0 {
			// raft itself leaves a joint configuration; the set of voters is the one that was entered.
			value = batch.Voters{Voters: m.voters}.AppendValue(nil)
		}
		return batch.Record{Key: controlKey(batch.VotersType), Value: value}, nil
	case len(data) == 0:
		return batch.Record{Key: controlKey(batch.LeaderChangeType), Value: m.leaderChange(e.GetTerm()).AppendValue(nil)}, nil
	case data[0] == controlMark:
		return batch.Record{Key: controlKey(batch.ControlType(binary.BigEndian.Uint16(data[1:]))), Value: data[3:]}, nil
	default:
		return batch.Record{Value: data}, nil
	}
}

// leaderChange is the record that opens a term. Only the leader knows who voted for it; the others write what they know.
func (m *Machine) leaderChange(term uint64) batch.LeaderChange {
	c := batch.LeaderChange{LeaderID: model.NoBroker}
	for _, v := range m.voters {
		c.Voters = append(c.Voters, batch.QuorumVoter{ID: v.ID})
	}
	if term == m.leaderTerm {
		c.LeaderID = m.leader.ID
		for _, k := range m.granted {
			c.GrantingVoters = append(c.GrantingVoters, batch.QuorumVoter{ID: k.ID})
		}
	}
	return c
}
