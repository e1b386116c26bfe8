package simulation

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"

	"troupe/actors/founding"
	"troupe/codec/batch"
	"troupe/internal/model"
	"troupe/partitionlog/checkpoint"
)

// dataDir is every node's only log directory.
const dataDir = "/data"

// clusterID is given by whoever formats a cluster's directories.
const clusterID = "c2ltdWxhdGlvbi1zZWVkcw"

// drawDirectory gives a host a new, empty disk's directory id.
func (h *host) drawDirectory() {
	for i := range h.directory {
		h.directory[i] = byte(h.world.random.Uint32())
	}
}

// format leaves on the disk what the founding of the cluster leaves there, or the joining of one: a search needs sockets, and
// actors/founding has tests of its own. A quorum of kraft.version 0 is named by the configuration, and needs none.
func (h *host) format(joins bool) {
	if h.world.static {
		return
	}
	first := base64.StdEncoding.EncodeToString(batch.Voters{Voters: h.world.founders()}.AppendValue(nil))
	accepted, voters, seeds := clusterID, first, ""
	if joins {
		accepted, voters, seeds = "", "", first
	}
	text := fmt.Sprintf(`{"version":1,"directoryId":%q,"clusterId":%q,"proposerId":1,"voters":%q,"seeds":%q}`, h.directory, accepted, voters, seeds)
	fsys := h.disk
	err := fsys.MkdirAll(dataDir, 0o755)
	if err == nil {
		err = fsys.SyncDir("/")
	}
	if err == nil {
		err = checkpoint.Replace(fsys, filepath.Join(dataDir, founding.File), []byte(text))
	}
	if err == nil {
		m := checkpoint.MetaProperties{ClusterID: clusterID, NodeID: model.BrokerID(h.id), DirectoryID: h.directory}
		err = checkpoint.WriteMetaProperties(fsys, filepath.Join(dataDir, checkpoint.MetaFile), m, h.world.clock.Now())
	}
	if err != nil {
		panic(fmt.Errorf("a disk that nothing has happened to cannot be formatted: %w", err))
	}
}

// founders are all nodes with the disks that they have now.
func (w *World) founders() []batch.Voter {
	var all []batch.Voter
	for _, h := range w.hosts {
		all = append(all, batch.Voter{
			ID: model.BrokerID(h.id), DirectoryID: h.directory, MostKRaftVersion: 1,
			Endpoints: []batch.VoterEndpoint{{Name: controllerListener, Host: hostName(h.id), Port: controllerPort}},
		})
	}
	return all
}

// durable reads what a file would hold after a power cut; nil when it would not be there.
func (h *host) durable(name string) []byte {
	b, err := h.disk.Durable(filepath.Join(dataDir, name))
	if err != nil && !os.IsNotExist(err) {
		panic(err) // of a path that there is not
	}
	return b
}
