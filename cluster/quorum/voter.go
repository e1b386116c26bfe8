package quorum

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"troupe/codec/batch"
	"troupe/internal/model"
)

// VoterKey is who may vote: a node with one metadata directory. A node whose disk was wiped has another directory id and
// is another voter, so that a vote or an acknowledgement it forgot is never counted twice (KIP-853).
// In a quorum of kraft.version 0 the directory is zero for all.
type VoterKey struct {
	ID        model.BrokerID
	Directory model.DirectoryID
}

// NoVoter is the key of nobody.
var NoVoter = VoterKey{ID: model.NoBroker}

// String writes a key as Kafka's tools take it.
func (k VoterKey) String() string { return fmt.Sprintf("%d@%s", k.ID, k.Directory) }

// raftID is raft's number for a key: 63 bits of its SHA-256. Being made of the random directory id, a number is not used
// twice, and every node finds the same one without anything being stored. 0 is nobody, as raft has it.
func (k VoterKey) raftID() uint64 {
	if k.ID == model.NoBroker {
		return 0
	}
	var b [20]byte
	binary.BigEndian.PutUint32(b[:], uint32(k.ID))
	copy(b[4:], k.Directory[:])
	sum := sha256.Sum256(b[:])
	return binary.BigEndian.Uint64(sum[:])>>1 | 1
}

func keyOf(v batch.Voter) VoterKey { return VoterKey{v.ID, v.DirectoryID} }

func keysOf(voters []batch.Voter) []VoterKey {
	keys := make([]VoterKey, len(voters))
	for i, v := range voters {
		keys[i] = keyOf(v)
	}
	return keys
}

// findVoter gives the index of a key, -1 when it does not vote.
func findVoter(voters []batch.Voter, k VoterKey) int {
	return slices.IndexFunc(voters, func(v batch.Voter) bool { return keyOf(v) == k })
}
