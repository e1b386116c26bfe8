package metadataquorum

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/option"
)

// describe is the command describe, which shows one of two views.
type describe struct {
	complainer
	shared *shared
}

func (d *describe) Define(fs *pflag.FlagSet) {
	fs.Bool("status", false, "a short summary")
	fs.Bool("replication", false, "each copy of the metadata log, and how far it is")
	fs.Bool("human-readable", false, "with --replication: times as how long ago they are")
}

func (d *describe) Run(ctx context.Context, fs *pflag.FlagSet, s option.Streams) error {
	client, err := d.shared.open(s)
	if err != nil {
		return err
	}
	defer client.Close()
	status, replication, ago := fs.Changed("status"), fs.Changed("replication"), fs.Changed("human-readable")
	switch {
	case status && replication:
		return option.Fail("Only one of --status or --replication should be specified with describe sub-command")
	case !status && !replication:
		return option.Fail("One of --status or --replication must be specified with describe sub-command")
	case status && ago:
		return option.Fail("The option --human-readable is only supported along with --replication")
	}
	show := d.status
	if replication {
		show = d.replication
	}
	return told(ctx, show(ctx, client.Client, fs, s))
}

// summary is the status, and -o json.
type summary struct {
	ClusterID     string    `json:"clusterId"`
	Leader        int32     `json:"leaderId"`
	LeaderEpoch   int32     `json:"leaderEpoch"`
	HighWatermark int64     `json:"highWatermark"`
	MaxLag        int64     `json:"maxFollowerLag"`
	MaxLagMs      int64     `json:"maxFollowerLagTimeMs"`
	Voters        []replica `json:"currentVoters"`
	Observers     []replica `json:"currentObservers"`
}

func (d *describe) status(ctx context.Context, client *connection.Client, fs *pflag.FlagSet, s option.Streams) error {
	cluster, err := connection.Nodes(ctx, client, "describeCluster", false)
	if err != nil {
		return err
	}
	q, err := ask(ctx, client)
	if err != nil {
		return err
	}
	leader, err := q.leaderAmong()
	if err != nil {
		return err
	}
	lag, lagMs := q.furthestBehind(leader)
	v := summary{cluster.ClusterID, q.leader, q.epoch, q.highWatermark, lag, lagMs, q.voters, q.observers}
	if option.JSON(fs) {
		return option.WriteJSON(s, v)
	}
	_, err = fmt.Fprintf(s.Out, "ClusterId:              %s\nLeaderId:               %d\nLeaderEpoch:            %d\nHighWatermark:          %d\n"+
		"MaxFollowerLag:         %d\nMaxFollowerLagTimeMs:   %d\nCurrentVoters:          %s\nCurrentObservers:       %s\n",
		v.ClusterID, v.Leader, v.LeaderEpoch, v.HighWatermark, v.MaxLag, v.MaxLagMs, list(v.Voters), list(v.Observers))
	return err
}

// furthestBehind compares the leader with the voter whose log is shortest, the first of several: in offsets, and by when
// each had all that the leader had, which is -1 where it is not known.
func (q *standing) furthestBehind(leader replica) (offsets, ms int64) {
	last := q.voters[0]
	for _, v := range q.voters {
		if v.LogEnd < last.LogEnd {
			last = v
		}
	}
	offsets = leader.LogEnd - last.LogEnd
	switch {
	case last.ID == leader.ID:
		return offsets, 0
	case leader.LastCaughtUp < 0 || last.LastCaughtUp < 0:
		return offsets, -1
	}
	return offsets, leader.LastCaughtUp - last.LastCaughtUp
}

// row is a line of --replication.
type row struct {
	replica
	Lag    int64  `json:"lag"`
	Status string `json:"status"`
}

func (d *describe) replication(ctx context.Context, client *connection.Client, fs *pflag.FlagSet, s option.Streams) error {
	q, err := ask(ctx, client)
	if err != nil {
		return err
	}
	leader, err := q.leaderAmong()
	if err != nil {
		return err
	}
	rows := []row{{leader, 0, "Leader"}}
	for _, v := range q.voters {
		if v.ID != q.leader {
			rows = append(rows, row{v, leader.LogEnd - v.LogEnd, "Follower"})
		}
	}
	for _, o := range q.observers {
		rows = append(rows, row{o, leader.LogEnd - o.LogEnd, "Observer"})
	}
	if option.JSON(fs) {
		return option.WriteJSON(s, rows)
	}
	return printRows(s.Out, rows, fs.Changed("human-readable"), time.Now())
}

func printRows(w io.Writer, rows []row, ago bool, now time.Time) error {
	table := [][]string{{"NodeId", "DirectoryId", "LogEndOffset", "Lag", "LastFetchTimestamp", "LastCaughtUpTimestamp", "Status"}}
	for _, r := range rows {
		fetched, err := moment(r.LastFetch, "last fetch", ago, now)
		if err != nil {
			return err
		}
		caughtUp, err := moment(r.LastCaughtUp, "last caught up", ago, now)
		if err != nil {
			return err
		}
		table = append(table, []string{strconv.Itoa(int(r.ID)), r.Directory, strconv.FormatInt(r.LogEnd, 10), strconv.FormatInt(r.Lag, 10),
			fetched, caughtUp, r.Status})
	}
	widths := make([]int, len(table[0]))
	for _, cells := range table {
		for i, cell := range cells {
			widths[i] = max(widths[i], len(cell))
		}
	}
	for _, cells := range table {
		for i, cell := range cells {
			fmt.Fprintf(w, "%-*s\t", widths[i], cell) // behind the last one too, as the script does
		}
		fmt.Fprintln(w)
	}
	return nil
}

// moment writes a time as it came, or as how long ago it is, which no clock may contradict.
func moment(ms int64, what string, ago bool, now time.Time) (string, error) {
	if ms < 0 || !ago {
		return strconv.FormatInt(max(ms, -1), 10), nil
	}
	if ms == 0 || ms > now.UnixMilli() {
		return "", fmt.Errorf("Error while computing relative time, possible drift in system clock.\nCurrent timestamp is %d, %s timestamp is %d",
			now.UnixMilli(), what, ms)
	}
	return fmt.Sprintf("%d ms ago", now.UnixMilli()-ms), nil
}
