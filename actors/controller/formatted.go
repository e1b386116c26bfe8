package controller

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"troupe/cluster/quorum"
	"troupe/cluster/record"
	"troupe/codec/batch"
)

// BootstrapFile is what kafka-storage leaves in each directory that it formats: a checkpoint of the first records of a
// cluster, whose levels a new cluster begins with (KIP-778). It is read while there is no cluster yet, and never written
// here.
const BootstrapFile = "bootstrap.checkpoint"

// formattedLevels gives the levels that the directory was formatted with, nil for none.
func (s *store) formattedLevels() (map[string]int16, error) {
	name := filepath.Join(filepath.Dir(s.path), BootstrapFile)
	data, err := s.readFile(filepath.Join("..", BootstrapFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	levels := map[string]int16{}
	r := quorum.CheckpointReader{}
	for len(data) > 0 {
		v, rest, err := batch.First(data)
		if err == nil {
			err = v.CheckCRC()
		}
		if err == nil {
			err = r.Add(v, func(m record.Record) error { return takeLevel(levels, m) })
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		data = rest
	}
	if err := r.Done(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return levels, nil
}

// takeLevel refuses what would be lost: users that --add-scram made could not log in.
func takeLevel(levels map[string]int16, m record.Record) error {
	f, is := m.(*record.FeatureLevel)
	if !is {
		return fmt.Errorf("a new cluster cannot begin with a record of kind %d: format the directory without it", m.Key())
	}
	levels[f.Name] = f.Level
	return nil
}

// newLevels are what a new cluster begins with: those that the directory was formatted with, as far as they are supported
// here. Kafka's tool sets features by default that this software does not have; that is told at the first start.
func (a *Actor) newLevels(formatted map[string]int16, first bool) map[string]int16 {
	if formatted == nil {
		return newClusterLevels
	}
	levels := map[string]int16{}
	for _, f := range SupportedFeatures {
		asked, named := formatted[f.Name]
		if !named || f.Name == KRaftVersionFeature { // the quorum's own, in its voters' checkpoint
			continue
		}
		levels[f.Name] = min(max(asked, f.MinSupportedVersion), f.MaxSupportedVersion)
		if levels[f.Name] != asked && first {
			a.deps.Log.Warn("the directory is formatted with a level of a feature that is not supported", "feature", f.Name, "level", asked, "instead", levels[f.Name])
		}
	}
	return levels
}
