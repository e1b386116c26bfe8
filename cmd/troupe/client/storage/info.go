package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"troupe/cmd/troupe/client/option"
	"troupe/internal/vfs"
	"troupe/partitionlog/checkpoint"
)

// info is the command info.
type info struct{ config option.Text }

func (c *info) Define(fs *pflag.FlagSet) {
	option.Short(fs, &c.config, "config", "c", "FILE", "configuration of the node")
}

// Complain implements option.Complainer.
func (c *info) Complain(err error) error { return misuse(option.ArgumentError(err).Error()) }

// report is what stands in the directories.
type report struct {
	Directories []string          `json:"directories"`
	Metadata    map[string]string `json:"metadata"`
	Problems    []string          `json:"problems"`
}

func (c *info) Run(_ context.Context, flags *pflag.FlagSet, s option.Streams) error {
	node, err := load(&c.config)
	if err != nil {
		return err
	}
	r := look(vfs.OS(), directories(node))
	if option.JSON(flags) {
		err = option.WriteJSON(s, r)
	} else {
		r.print(s)
	}
	if err == nil && len(r.Problems) > 0 {
		return option.Silent()
	}
	return err
}

// look reads meta.properties of each directory. What one says that differs from the first is a problem.
func look(fsys vfs.FS, dirs []string) report {
	r := report{Directories: []string{}, Problems: []string{}}
	var first checkpoint.MetaProperties
	for _, dir := range dirs {
		stat, err := os.Stat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			r.Problems = append(r.Problems, dir+" does not exist")
			continue
		case err != nil || !stat.IsDir():
			r.Problems = append(r.Problems, dir+" is not a directory")
			continue
		}
		r.Directories = append(r.Directories, dir)
		name := filepath.Join(dir, checkpoint.MetaFile)
		m, there, err := checkpoint.ReadMetaProperties(fsys, name)
		switch {
		case err != nil:
			r.Problems = append(r.Problems, fmt.Sprintf("Error loading %s: %s", name, err))
		case !there:
			r.Problems = append(r.Problems, dir+" is not formatted.")
		case r.Metadata == nil:
			first, r.Metadata = m, properties(m)
		case m.ClusterID != first.ClusterID:
			r.Problems = append(r.Problems, "Mismatched cluster IDs between storage directories.")
		case m.NodeID != first.NodeID:
			r.Problems = append(r.Problems, "Mismatched node IDs between storage directories.")
		}
	}
	if r.Metadata != nil && first.Version == 0 {
		r.Problems = append(r.Problems, "The kafka configuration file appears to be for a cluster in KRaft mode, but the directories are formatted for legacy mode.")
	}
	return r
}

func properties(m checkpoint.MetaProperties) map[string]string {
	p := map[string]string{"cluster.id": m.ClusterID, "node.id": fmt.Sprint(m.NodeID), "version": fmt.Sprint(m.Version)}
	if !m.DirectoryID.IsZero() {
		p["directory.id"] = m.DirectoryID.String()
	}
	return p
}

func (r report) print(s option.Streams) {
	list := func(one, many string, items []string) {
		if len(items) == 1 {
			many = one
		}
		fmt.Fprintf(s.Out, "%s:\n  %s\n\n", many, strings.Join(items, "\n  "))
	}
	if len(r.Directories) > 0 {
		list("Found log directory", "Found log directories", r.Directories)
	}
	if r.Metadata != nil {
		var pairs []string
		for _, key := range []string{"cluster.id", "directory.id", "node.id", "version"} {
			if value, there := r.Metadata[key]; there {
				pairs = append(pairs, key+"="+value)
			}
		}
		fmt.Fprintf(s.Out, "Found metadata: {%s}\n\n", strings.Join(pairs, ", "))
	}
	if len(r.Problems) > 0 {
		list("Found problem", "Found problems", r.Problems)
	}
}
