package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"troupe/internal/model"
	"troupe/internal/vfs"
)

// QuorumFile holds, in the directory of the metadata log, what a voter must not forget: its epoch and its vote. Kafka
// writes it as JSON, version 0 with kraft.version 0 and version 1 with kraft.version 1 (facts/records.md
// QuorumStateData):
//
//	{"clusterId":"","leaderId":1,"leaderEpoch":3,"votedId":-1,"appliedOffset":0,"currentVoters":[{"voterId":1}],"data_version":0}
//	{"leaderId":1,"leaderEpoch":3,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}
const QuorumFile = "quorum-state"

// QuorumState is its content.
type QuorumState struct {
	Version          int16 // of the file: 0 or 1
	LeaderID         model.BrokerID
	LeaderEpoch      model.LeaderEpoch
	VotedID          model.BrokerID    // NoBroker when no vote was given in this epoch
	VotedDirectoryID model.DirectoryID // version 1; zero when it is not known
	CurrentVoters    []model.BrokerID  // version 0; later the voters stand in the log
}

// quorumJSON has pointers, so that a missing field is told from one that is 0. Fields of later versions are skipped.
type quorumJSON struct {
	ClusterID        *string            `json:"clusterId,omitempty"`
	LeaderID         *model.BrokerID    `json:"leaderId"`
	LeaderEpoch      *model.LeaderEpoch `json:"leaderEpoch"`
	VotedID          *model.BrokerID    `json:"votedId"`
	VotedDirectoryID *string            `json:"votedDirectoryId,omitempty"`
	AppliedOffset    *model.Offset      `json:"appliedOffset,omitempty"`
	CurrentVoters    []quorumVoterJSON  `json:"currentVoters,omitempty"`
	DataVersion      *int16             `json:"data_version"`
}

type quorumVoterJSON struct {
	VoterID model.BrokerID `json:"voterId"`
}

// ReadQuorumState reads the file; ok is false when there is none, which only a node that never took part has.
func ReadQuorumState(fsys vfs.FS, name string) (q QuorumState, ok bool, err error) {
	data, err := read(fsys, name)
	if absent(err) {
		return QuorumState{}, false, nil
	}
	if err != nil {
		return QuorumState{}, false, err
	}
	q, err = parseQuorumState(name, data)
	return q, err == nil, err
}

// WriteQuorumState replaces the file. No message that depends on the epoch or the vote may go out before it returned.
func WriteQuorumState(fsys vfs.FS, name string, q QuorumState) error {
	return Replace(fsys, name, appendQuorumState(nil, q))
}

// appendQuorumState writes the fields in the order of Kafka's schema; clusterId and appliedOffset are relics that Kafka
// writes with these values too.
func appendQuorumState(dst []byte, q QuorumState) []byte {
	if q.Version > 0 {
		return fmt.Appendf(dst, `{"leaderId":%d,"leaderEpoch":%d,"votedId":%d,"votedDirectoryId":"%s","data_version":%d}`,
			q.LeaderID, q.LeaderEpoch, q.VotedID, q.VotedDirectoryID, q.Version)
	}
	dst = fmt.Appendf(dst, `{"clusterId":"","leaderId":%d,"leaderEpoch":%d,"votedId":%d,"appliedOffset":0,"currentVoters":[`,
		q.LeaderID, q.LeaderEpoch, q.VotedID)
	for i, id := range q.CurrentVoters {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = fmt.Appendf(dst, `{"voterId":%d}`, id)
	}
	return append(dst, `],"data_version":0}`...)
}

func parseQuorumState(name string, data []byte) (QuorumState, error) {
	var j quorumJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return QuorumState{}, jsonError(name, data, err)
	}
	switch {
	case j.DataVersion == nil || *j.DataVersion < 0 || *j.DataVersion > 1:
		return QuorumState{}, &FormatError{name, 0, "data_version is not 0 or 1"}
	case j.LeaderID == nil || j.LeaderEpoch == nil || j.VotedID == nil:
		return QuorumState{}, &FormatError{name, 0, "leaderId, leaderEpoch or votedId is missing"}
	case *j.LeaderEpoch < 0:
		return QuorumState{}, &FormatError{name, 0, fmt.Sprintf("leaderEpoch %d is negative", *j.LeaderEpoch)}
	}
	q := QuorumState{Version: *j.DataVersion, LeaderID: *j.LeaderID, LeaderEpoch: *j.LeaderEpoch, VotedID: *j.VotedID}
	if q.Version > 0 {
		if j.VotedDirectoryID == nil {
			return QuorumState{}, &FormatError{name, 0, "votedDirectoryId is missing"}
		}
		id, err := model.ParseUUID(*j.VotedDirectoryID)
		if err != nil {
			return QuorumState{}, &FormatError{name, 0, "votedDirectoryId: " + err.Error()}
		}
		q.VotedDirectoryID = id
		return q, nil
	}
	for _, v := range j.CurrentVoters {
		q.CurrentVoters = append(q.CurrentVoters, v.VoterID)
	}
	return q, nil
}

// jsonError names the line in which the JSON is broken.
func jsonError(name string, data []byte, err error) error {
	at := int64(0)
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.As(err, &kind):
		at = kind.Offset
	}
	return &FormatError{name, 1 + bytes.Count(data[:min(int(at), len(data))], []byte("\n")), err.Error()}
}
