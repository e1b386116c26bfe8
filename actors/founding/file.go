package founding

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"troupe/cluster/founding"
	"troupe/codec/batch"
	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog/checkpoint"
)

// File stands in the metadata directory from before this node shows anything of itself. It is JSON:
//
//	{"version": 1,
//	 "directoryId": …,             the directory's, as meta.properties names it later
//	 "clusterId": …,               what was accepted; empty for nothing
//	 "proposerId": …,
//	 "voters": …,                  the value of a KRAFT_VOTERS record, in base64
//	 "seeds": …}                   likewise, nodes of the cluster that this node joined
//
// It is left there: a start that was cut off before the metadata log was made finds the first voters in it.
const File = "founding.json"

// maxFile bounds what is read of it: some hundred voters.
const maxFile = 1 << 20

type saved struct {
	Version     int    `json:"version"`
	DirectoryID string `json:"directoryId"`
	ClusterID   string `json:"clusterId"`
	ProposerID  int32  `json:"proposerId"`
	Voters      []byte `json:"voters"`
	Seeds       []byte `json:"seeds"`
}

// load reads the file, or begins with a new directory.
func (s *search) load() (founding.State, error) {
	found, err := read(s.options.FS, filepath.Join(s.options.Dir, File))
	if err != nil {
		return founding.State{}, err
	}
	directory := model.RandomUUID()
	if found != nil {
		if directory, err = model.ParseUUID(found.DirectoryID); err != nil {
			return founding.State{}, fmt.Errorf("%s: %w", File, err)
		}
	}
	state := founding.State{Voter: s.self(directory)}
	if found != nil && found.ClusterID != "" {
		state.Accepted, err = found.proposal()
	}
	return state, err
}

// save makes a state durable.
func (s *search) save(state founding.State) error {
	out := saved{Version: 1, DirectoryID: state.Voter.DirectoryID.String(), ProposerID: int32(model.NoBroker)}
	if a := state.Accepted; a != nil {
		out.ClusterID, out.ProposerID, out.Voters = a.ClusterID, int32(a.Proposer), batch.Voters{Voters: a.Voters}.AppendValue(nil)
	}
	if len(s.seeds) > 0 {
		out.Seeds = batch.Voters{Voters: s.seeds}.AppendValue(nil)
	}
	data, err := json.Marshal(out)
	if err != nil {
		return err
	}
	return checkpoint.Replace(s.options.FS, filepath.Join(s.options.Dir, File), data)
}

// Past is how a node came to its cluster.
type Past struct {
	// First are the voters that the cluster was founded with, this node among them.
	First []batch.Voter
	// Joined tells that the cluster was there before this node's directory: the node has no vote, whoever it was before. Seeds
	// are the nodes that it met then.
	Joined bool
	Seeds  []batch.Voter
}

// Remember reads what a search has left behind; the zero Past is that of a node that never searched.
func Remember(fsys vfs.FS, dir, clusterID string) (Past, error) {
	found, err := read(fsys, filepath.Join(dir, File))
	if err != nil || found == nil {
		return Past{}, err
	}
	if found.ClusterID == clusterID {
		p, err := found.proposal()
		if err != nil {
			return Past{}, err
		}
		return Past{First: p.Voters}, nil
	}
	p := Past{Joined: true}
	if len(found.Seeds) > 0 {
		p.Seeds, err = voters(found.Seeds)
	}
	return p, err
}

func (f *saved) proposal() (*founding.Proposal, error) {
	all, err := voters(f.Voters)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", File, err)
	}
	return &founding.Proposal{ClusterID: f.ClusterID, Proposer: model.BrokerID(f.ProposerID), Voters: all}, nil
}

// read gives nil where there is no file.
func read(fsys vfs.FS, name string) (*saved, error) {
	data, err := vfs.ReadFile(fsys, name, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out saved
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", name, err)
	}
	if out.Version != 1 {
		return nil, fmt.Errorf("%s has version %d, expected 1", name, out.Version)
	}
	return &out, nil
}
