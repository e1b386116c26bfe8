package console

import (
	"net/http"
	"runtime"
	"runtime/metrics"

	"troupe/actors/api"
)

// overviewAnswer is what GET /overview gives: the page asks every other second and makes rates of what only grows.
// Times are in milliseconds, sizes in bytes.
type overviewAnswer struct {
	At      int64  `json:"at"` // Unix time
	Node    int32  `json:"node"`
	Cluster string `json:"cluster"`
	State   State  `json:"state"`
	Waiting string `json:"waiting,omitempty"` // what keeps the broker from serving
	// Warnings are what will hurt although all works.
	Warnings []api.Warning `json:"warnings,omitempty"`
	UpMs     int64         `json:"upMs"`
	// Of the sums, those that only grow begin at 0 with the process.
	Listeners   []listenerRow  `json:"listeners"`
	Sessions    int            `json:"sessions"`
	InFlight    int64          `json:"inFlight"`
	Memory      uint64         `json:"memory"` // mapped by the Go runtime
	Goroutines  int            `json:"goroutines"`
	CPUs        int            `json:"cpus"`
	Topics      int            `json:"topics"`
	Partitions  int            `json:"partitions"`
	Traffic     trafficRow     `json:"traffic"`
	Requests    []requestRow   `json:"requests"`
	Directories []directoryRow `json:"directories"`
	Members     []memberRow    `json:"members,omitempty"` // of a node that gossips
	Kinds       []kindRow      `json:"kinds"`
}

// listenerRow is one of listeners=, with its open connections.
type listenerRow struct {
	Name        string `json:"name"`
	Connections int    `json:"connections"`
}

// trafficRow sums up all topics; rejected is in bytes, failed in partitions of requests.
type trafficRow struct {
	MessagesIn int64 `json:"messagesIn"`
	BytesIn    int64 `json:"bytesIn"`
	BytesOut   int64 `json:"bytesOut"`
	Rejected   int64 `json:"rejected"`
	Failed     int64 `json:"failed"`
}

// requestRow has the count since the start; the times are of the last minute or two.
type requestRow struct {
	Name  string  `json:"name"`
	Count uint64  `json:"count"`
	P50   float64 `json:"p50"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

// kindRow has the histograms of GET /metrics as counts and sums in seconds.
type kindRow struct {
	Kind          string  `json:"kind"`
	Actors        int     `json:"actors"`
	Depth         int     `json:"depth"`
	Handled       uint64  `json:"handled"`
	Restarts      uint64  `json:"restarts"`
	HandlingCount uint64  `json:"handlingCount"`
	HandlingSum   float64 `json:"handlingSum"`
	QueueingCount uint64  `json:"queueingCount"`
	QueueingSum   float64 `json:"queueingSum"`
}

// directoryRow is one log directory. Its error is what took it offline, for good: nothing is tried again.
type directoryRow struct {
	Path    string  `json:"path"`
	Error   string  `json:"error,omitempty"`
	Size    int64   `json:"size"`
	Writes  uint64  `json:"writes"`
	WriteMs float64 `json:"writeMs"` // mean
	Flushes uint64  `json:"flushes"`
	FlushMs float64 `json:"flushMs"` // mean
}

// overview puts together what the page's first view shows, in one answer, so that its numbers are of one moment.
func (s *Server) overview(w http.ResponseWriter, _ *http.Request) {
	n := s.deps.Node
	now, image, t := n.Clock.Now(), n.Image(), n.Stats.Total()
	sessions, _ := n.Sessions.Count()
	a := overviewAnswer{
		At: now.UnixMilli(), Node: int32(n.ID), Cluster: image.ClusterID, State: s.deps.State(), Waiting: s.deps.Ready(),
		Warnings: n.Warnings(), UpMs: now.Sub(s.started).Milliseconds(), Sessions: sessions, InFlight: s.deps.InFlight.Used(),
		Memory: mapped(), Goroutines: runtime.NumGoroutine(), CPUs: runtime.GOMAXPROCS(0),
		Topics: image.TopicCount(), Partitions: image.PartitionCount(),
		Traffic: trafficRow{
			MessagesIn: t.MessagesIn.Load(), BytesIn: t.BytesIn.Load(), BytesOut: t.BytesOut.Load(),
			Rejected: t.BytesRejected.Load(), Failed: t.FailedProduce.Load() + t.FailedFetch.Load(),
		},
		Requests: s.requestRows(), Directories: s.directoryRows(), Members: s.memberRows(),
	}
	for _, k := range s.deps.System.Stats() {
		a.Kinds = append(a.Kinds, kindRow{
			k.Kind, k.Actors, k.Depth, k.Handled, k.Restarts, k.Handling.Count, k.Handling.Sum, k.Queueing.Count, k.Queueing.Sum,
		})
	}
	open, _ := s.deps.Connections()
	for _, l := range n.Config.Listeners {
		a.Listeners = append(a.Listeners, listenerRow{l.Name, open[l.Name]})
	}
	answer(w, a)
}

// mapped is the memory that the Go runtime has from the system, less what it gave back.
func mapped() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}

// requestRows lists the APIs that were asked for, with the window that scrapes use too: a reader of the page and an alert
// speak of the same percentiles.
func (s *Server) requestRows() []requestRow {
	rows := []requestRow{}
	for _, r := range s.times.read() {
		rows = append(rows, requestRow{
			Name: r.handler.Name, Count: r.all.Count,
			P50: inMillis(r.recent.Quantile(0.5)), P99: inMillis(r.recent.Quantile(0.99)), Max: inMillis(r.recent.Quantile(1)),
		})
	}
	return rows
}

// directoryRows gives means over the whole life; the page shows the rate beside them, /metrics the distribution.
func (s *Server) directoryRows() []directoryRow {
	sizes := map[string]int64{}
	for _, h := range s.deps.Node.Replicas.All() {
		sizes[h.Dir().Path] += h.Size()
	}
	rows := []directoryRow{}
	for _, d := range s.deps.Node.Dirs {
		writes, flushes := d.Writes.Read(), d.Flushes.Read()
		row := directoryRow{
			Path: d.Path, Size: sizes[d.Path], Writes: writes.Count, WriteMs: inMillis(writes.Mean()),
			Flushes: flushes.Count, FlushMs: inMillis(flushes.Mean()),
		}
		if err := d.Err(); err != nil {
			row.Error = err.Error()
		}
		rows = append(rows, row)
	}
	return rows
}
