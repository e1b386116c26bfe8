package batch

import (
	"encoding/binary"
	"fmt"

	"troupe/internal/model"
)

// The control records of the metadata quorum are flexible messages (facts/records.md): compact lengths, and a count of
// tagged fields, written as 0, behind every struct.

// QuorumVoter names a voter in a LeaderChange.
type QuorumVoter struct {
	ID model.BrokerID
	// DirectoryID is there from version 1 on.
	DirectoryID model.DirectoryID
}

// LeaderChange opens the term of a leader of the metadata quorum.
type LeaderChange struct {
	// Version is 0, or 1 with the voters' directory ids.
	Version  int16
	LeaderID model.BrokerID
	Voters   []QuorumVoter
	// GrantingVoters voted for the leader.
	GrantingVoters []QuorumVoter
}

func (LeaderChange) ControlType() ControlType { return LeaderChangeType }

// AppendValue is ControlRecord's.
func (l LeaderChange) AppendValue(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(l.Version))
	dst = binary.BigEndian.AppendUint32(dst, uint32(l.LeaderID))
	for _, voters := range [...][]QuorumVoter{l.Voters, l.GrantingVoters} {
		dst = appendCompactCount(dst, len(voters))
		for _, v := range voters {
			dst = binary.BigEndian.AppendUint32(dst, uint32(v.ID))
			if l.Version >= 1 {
				dst = append(dst, v.DirectoryID[:]...)
			}
			dst = append(dst, 0)
		}
	}
	return append(dst, 0)
}

// SnapshotHeader is the first record of a checkpoint.
type SnapshotHeader struct {
	// LastContainedLogTimestamp is that of the last record the checkpoint stands for, in milliseconds.
	LastContainedLogTimestamp int64
}

func (SnapshotHeader) ControlType() ControlType { return SnapshotHeaderType }

// AppendValue is ControlRecord's.
func (s SnapshotHeader) AppendValue(dst []byte) []byte {
	return append(binary.BigEndian.AppendUint64(append(dst, 0, 0), uint64(s.LastContainedLogTimestamp)), 0)
}

// SnapshotFooter is the last record of a checkpoint: without it the checkpoint is cut off.
type SnapshotFooter struct{}

func (SnapshotFooter) ControlType() ControlType { return SnapshotFooterType }

// AppendValue is ControlRecord's.
func (SnapshotFooter) AppendValue(dst []byte) []byte { return append(dst, 0, 0, 0) }

// KRaftVersion is the finalized kraft.version of the quorum (KIP-853).
type KRaftVersion struct {
	KRaftVersion int16
}

func (KRaftVersion) ControlType() ControlType { return KRaftVersionType }

// AppendValue is ControlRecord's.
func (k KRaftVersion) AppendValue(dst []byte) []byte {
	return append(binary.BigEndian.AppendUint16(append(dst, 0, 0), uint16(k.KRaftVersion)), 0)
}

// Voters is the whole set of voters from here on (KIP-853).
type Voters struct {
	Voters []Voter
}

// Voter is one of them, where it listens, and the kraft.version it can do.
type Voter struct {
	ID          model.BrokerID
	DirectoryID model.DirectoryID
	Endpoints   []VoterEndpoint
	// LeastKRaftVersion and MostKRaftVersion bound what the voter supports.
	LeastKRaftVersion, MostKRaftVersion int16
}

// VoterEndpoint is one listener of a voter.
type VoterEndpoint struct {
	Name string
	Host string
	Port uint16
}

func (Voters) ControlType() ControlType { return VotersType }

// AppendValue is ControlRecord's.
func (v Voters) AppendValue(dst []byte) []byte {
	dst = appendCompactCount(append(dst, 0, 0), len(v.Voters))
	for _, voter := range v.Voters {
		dst = binary.BigEndian.AppendUint32(dst, uint32(voter.ID))
		dst = append(dst, voter.DirectoryID[:]...)
		dst = appendCompactCount(dst, len(voter.Endpoints))
		for _, e := range voter.Endpoints {
			dst = append(appendCompactCount(dst, len(e.Name)), e.Name...)
			dst = append(appendCompactCount(dst, len(e.Host)), e.Host...)
			dst = append(binary.BigEndian.AppendUint16(dst, e.Port), 0)
		}
		dst = binary.BigEndian.AppendUint16(dst, uint16(voter.LeastKRaftVersion))
		dst = binary.BigEndian.AppendUint16(dst, uint16(voter.MostKRaftVersion))
		// One count for the feature's own struct and one for the voter's.
		dst = append(dst, 0, 0)
	}
	return append(dst, 0)
}

// appendCompactCount writes a length or count as flexible messages do: one more, so that 0 can be null.
func appendCompactCount(dst []byte, n int) []byte {
	return binary.AppendUvarint(dst, uint64(n)+1)
}

// latestControl are the versions that are readable here.
var latestControl = map[ControlType]int16{LeaderChangeType: 1}

func parseQuorumControl(t ControlType, value []byte) (ControlRecord, error) {
	p := parser{b: value}
	version := p.int16()
	if version < 0 || version > latestControl[t] {
		return nil, fmt.Errorf("control record of type %d has version %d: want 0 to %d", t, version, latestControl[t])
	}
	var r ControlRecord
	switch t {
	case LeaderChangeType:
		r = LeaderChange{
			Version: version, LeaderID: model.BrokerID(p.int32()),
			Voters: p.quorumVoters(version), GrantingVoters: p.quorumVoters(version),
		}
	case SnapshotHeaderType:
		r = SnapshotHeader{LastContainedLogTimestamp: p.int64()}
	case SnapshotFooterType:
		r = SnapshotFooter{}
	case KRaftVersionType:
		r = KRaftVersion{KRaftVersion: p.int16()}
	case VotersType:
		r = Voters{Voters: p.voters()}
	}
	p.tags()
	if p.short {
		return nil, fmt.Errorf("control record of type %d is cut off", t)
	}
	return r, nil
}
