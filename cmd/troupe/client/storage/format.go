package storage

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"troupe/actors/controller"
	"troupe/cluster/quorum"
	"troupe/cluster/record"
	"troupe/cmd/troupe/client/level"
	"troupe/cmd/troupe/client/option"
	"troupe/codec/batch"
	"troupe/configs"
	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog/checkpoint"
)

// format is the command format.
type format struct {
	config, cluster, scram, release, feature, initial option.Text
}

func (c *format) Define(fs *pflag.FlagSet) {
	option.Short(fs, &c.config, "config", "c", "FILE", "configuration of the node")
	option.Short(fs, &c.cluster, "cluster-id", "t", "ID", "id of the cluster; random-uuid gives one")
	option.Short(fs, &c.scram, "add-scram", "S", "CREDENTIAL", "not available: there is no SASL yet")
	fs.BoolP("ignore-formatted", "g", false, "pass over directories that are formatted")
	option.Short(fs, &c.release, "release-version", "r", "VERSION", "release whose levels the features begin with")
	option.Short(fs, &c.feature, "feature", "f", "NAME=LEVEL", "level of one feature, repeatable")
	fs.BoolP("standalone", "s", false, "begin with this controller as the only voter")
	fs.BoolP("no-initial-controllers", "N", false, "begin without voters: this node joins a quorum that there is")
	option.Short(fs, &c.initial, "initial-controllers", "I", "ID@HOST:PORT:DIRECTORY,...", "begin with these voters, the same on all nodes")
}

// Complain implements option.Complainer.
func (c *format) Complain(err error) error { return misuse(option.ArgumentError(err).Error()) }

func (c *format) Run(_ context.Context, fs *pflag.FlagSet, s option.Streams) error {
	if !c.config.Given() || !c.cluster.Given() {
		missing := "--config/-c"
		if c.config.Given() {
			missing = "--cluster-id/-t"
		}
		return misuse("argument " + missing + " is required")
	}
	if err := c.exclusive(fs); err != nil {
		return err
	}
	node, err := load(&c.config)
	if err != nil {
		return err
	}
	p, err := c.plan(node, fs)
	if err != nil {
		return err
	}
	done, err := p.run(vfs.OS(), s, fs.Changed("ignore-formatted"), option.JSON(fs))
	if err == nil && option.JSON(fs) {
		return option.WriteJSON(s, map[string][]string{"formatted": done})
	}
	return err
}

// exclusive refuses two of the options that name the first voters.
func (c *format) exclusive(fs *pflag.FlagSet) error {
	first := ""
	for _, o := range []struct{ name, shown string }{
		{"standalone", "--standalone/-s"}, {"no-initial-controllers", "--no-initial-controllers/-N"}, {"initial-controllers", "--initial-controllers/-I"},
	} {
		switch {
		case !fs.Changed(o.name):
		case first != "":
			return misuse("argument " + o.shown + ": not allowed with argument " + first)
		default:
			first = o.shown
		}
	}
	return nil
}

// plan is what is to be written.
type plan struct {
	node    *configs.Broker
	cluster string
	levels  levels
	release level.Release
	voters  []batch.Voter // nil: none are named
}

// plan checks all before the first file is written.
func (c *format) plan(node *configs.Broker, fs *pflag.FlagSet) (*plan, error) {
	dynamic := fs.Changed("standalone") || fs.Changed("no-initial-controllers") || c.initial.Given()
	switch static := len(node.Quorum.Voters) > 0; {
	case c.scram.Given():
		return nil, option.Fail("--add-scram is not available: this version has no SASL, so that nobody could log in with it")
	case static && (fs.Changed("standalone") || c.initial.Given()):
		return nil, option.Fail("You cannot specify controller.quorum.voters and format the node with --initial-controllers or --standalone. " +
			"If you want to use dynamic quorum, please remove controller.quorum.voters and specify controller.quorum.bootstrap.servers instead.")
	case !static && !dynamic && node.Roles.Controller:
		return nil, option.Fail("Because controller.quorum.voters is not set on this controller, you must specify one of the following: " +
			"--standalone, --initial-controllers, or --no-initial-controllers.")
	}
	p := &plan{node: node, cluster: c.cluster.Last()}
	var err error
	if p.voters, err = c.voters(node, fs.Changed("standalone")); err != nil {
		return nil, err
	}
	p.levels, p.release, err = chosen(c.release.Last(), c.feature.All(), dynamic && len(node.Quorum.Voters) == 0)
	return p, err
}

// run formats the directories that are not yet, and gives their names.
func (p *plan) run(fsys vfs.FS, s option.Streams, ignore, quiet bool) ([]string, error) {
	empty := []string{}
	for _, dir := range directories(p.node) {
		name := filepath.Join(dir, checkpoint.MetaFile)
		m, there, err := checkpoint.ReadMetaProperties(fsys, name)
		switch {
		case err != nil:
			return nil, err
		case !there:
			empty = append(empty, dir)
		case m.ClusterID != p.cluster:
			return nil, option.Fail("Invalid cluster.id in: %s. Expected %s, but read %s", name, p.cluster, m.ClusterID)
		case m.NodeID != p.node.NodeID:
			return nil, option.Fail("Invalid node.id in: %s. Expected %d, but read %d", name, p.node.NodeID, m.NodeID)
		case !ignore:
			return nil, option.Fail("Log directory %s is already formatted. Use --ignore-formatted to ignore this directory and format the others.", dir)
		}
	}
	say := func(format string, args ...any) {
		if !quiet {
			fmt.Fprintf(s.Out, format+"\n", args...)
		}
	}
	if len(empty) == 0 {
		say("All of the log directories are already formatted.")
		return empty, nil
	}
	say("Bootstrap metadata: %s", p.levels)
	for _, dir := range empty {
		say("Formatting %s %s with metadata.version %s.", p.kind(dir), dir, p.release.Name)
		if err := p.write(fsys, dir); err != nil {
			return nil, err
		}
	}
	return empty, nil
}

// own finds this node among the voters.
func (p *plan) own() (batch.Voter, bool) {
	i := slices.IndexFunc(p.voters, func(v batch.Voter) bool { return v.ID == p.node.NodeID })
	if i < 0 {
		return batch.Voter{}, false
	}
	return p.voters[i], true
}

func (p *plan) holdsMetadata(dir string) bool { return dir == filepath.Clean(p.node.MetadataDir) }

func (p *plan) kind(dir string) string {
	_, votes := p.own()
	switch {
	case !p.holdsMetadata(dir):
		return "data directory"
	case p.voters == nil:
		return "metadata directory"
	case votes:
		return "dynamic metadata voter directory"
	}
	return "dynamic metadata directory"
}

// write leaves meta.properties for the end: it says that the others are there.
func (p *plan) write(fsys vfs.FS, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	id, err := model.NewUUID(rand.Reader)
	if err != nil {
		return err
	}
	now := time.Now()
	if p.voters != nil && p.holdsMetadata(dir) {
		if v, votes := p.own(); votes {
			id = v.DirectoryID
		}
		log := filepath.Join(dir, "__cluster_metadata-0")
		if err := os.MkdirAll(log, 0o755); err != nil {
			return err
		}
		first := quorum.Checkpoint{KRaftVersion: 1, LastTimestamp: now.UnixMilli()}
		first.Voters = p.voters
		if err := p.checkpoint(fsys, filepath.Join(log, quorum.CheckpointName(0, 0)), first, nil, now); err != nil {
			return err
		}
	}
	if err := p.checkpoint(fsys, filepath.Join(dir, controller.BootstrapFile), quorum.Checkpoint{}, p.levels.records(), now); err != nil {
		return err
	}
	m := checkpoint.MetaProperties{ClusterID: p.cluster, NodeID: p.node.NodeID, DirectoryID: id}
	return checkpoint.WriteMetaProperties(fsys, filepath.Join(dir, checkpoint.MetaFile), m, now)
}

func (p *plan) checkpoint(fsys vfs.FS, name string, c quorum.Checkpoint, records []record.Record, now time.Time) error {
	c.Level = record.MetadataVersion(p.levels[level.MetadataVersion])
	var data []byte
	for v, err := range c.Batches(slices.Values(records), now) {
		if err != nil {
			return err
		}
		data = append(data, v...)
	}
	return checkpoint.Replace(fsys, name, data)
}
