// Package console is the admin port: metrics, health, profiles, the tree of actors, their traces, and a page that
// shows it all to a person.
package console

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"troupe/actors/api"
	"troupe/actors/kit"
	"troupe/actors/lag"
	"troupe/actors/membership"
	"troupe/actors/trace"
	"troupe/internal/vfs"
)

// Deps is what the admin port shows. All of it is safe for concurrent use.
type Deps struct {
	Log    *slog.Logger
	System *kit.System
	Tracer *trace.Tracer
	Node   *api.Node
	// Ready tells what keeps the broker from serving; empty when it serves.
	Ready func() string
	State func() State
	// Connections gives the open ones by listener, and how many were ever accepted.
	Connections func() (open map[string]int, accepted uint64)
	// Waiting counts the requests that are not answered yet.
	Waiting     func() map[*api.Handler]int
	InFlight    *kit.Credits
	Descriptors *vfs.Descriptors
	// Throttled gives the bytes a second of what each quota of moves holds for.
	Throttled func() Throttled
	// Lag has how far behind the groups are that are coordinated here, and asks leaders about single ones.
	Lag *lag.Board
	// Members are the nodes that gossip knows; nil where this one does not gossip.
	Members *membership.Board
	// Panics lets fault tests make actors panic (test.panics).
	Panics bool
}

// Throttled are rates in bytes a second: of throttled replicas given to followers, fetched from leaders, and of moves between log
// directories.
type Throttled struct{ Leader, Follower, Directories float64 }

// State is how far a broker has come, in Kafka's numbers (BrokerState).
type State int

// The states.
const (
	Starting                  State = 1
	Recovering                State = 2
	Running                   State = 3
	PendingControlledShutdown State = 6
	ShuttingDown              State = 7
)

// Server serves one admin address.
type Server struct {
	deps    Deps
	socket  net.Listener
	http    *http.Server
	started time.Time
	times   *times
}

// New makes the server of an open socket.
func New(socket net.Listener, d Deps) *Server {
	s := &Server{deps: d, socket: socket, started: d.Node.Clock.Now()}
	s.times = newTimes(d.Node)
	s.http = &http.Server{Handler: s.guarded(s.routes()), ReadHeaderTimeout: 10 * time.Second}
	return s
}

// Address is where the server listens.
func (s *Server) Address() string { return s.socket.Addr().String() }

// Serve answers until Close.
func (s *Server) Serve() {
	if err := s.http.Serve(s.socket); !errors.Is(err, http.ErrServerClosed) {
		s.deps.Log.Error("admin port failed", "address", s.Address(), "err", err)
	}
}

// Close ends all requests, streams too.
func (s *Server) Close() error { return s.http.Close() }

// routes names methods: what changes something is a POST, which guarded keeps from pages of other origins.
func (s *Server) routes() *http.ServeMux {
	m := http.NewServeMux()
	m.HandleFunc("GET /livez", s.live)
	m.HandleFunc("GET /readyz", s.ready)
	m.HandleFunc("GET /ready", s.readiness)
	m.Handle("GET /metrics", s.metrics())
	m.HandleFunc("GET /actors", s.actors)
	m.HandleFunc("POST /actors/panic", s.panicActor)
	m.HandleFunc("GET /trace", s.trace)
	m.HandleFunc("POST /trace", s.setRule)
	m.HandleFunc("GET /trace/rule", s.rule)
	m.HandleFunc("GET /overview", s.overview)
	m.HandleFunc("GET /cluster", s.cluster)
	m.HandleFunc("GET /topics", s.topics)
	m.HandleFunc("GET /groups", s.groups)
	m.HandleFunc("GET /debug/pprof/", pprof.Index)
	m.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	m.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	m.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	m.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	m.Handle("GET /", page())
	return m
}

// guarded keeps pages of other origins out: they may not change anything, nor make the broker trace or profile itself
// by naming these addresses as an image or a script. The port has no authentication of its own.
func (s *Server) guarded(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	return protection.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		// Browsers tell of every request where it comes from. A link that a person follows is welcome.
		if r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Dest") != "document" {
			http.Error(w, "requests from pages of another origin are refused", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	}))
}

// live says that the process answers at all; an actor that keeps failing ends the process by itself.
func (s *Server) live(w http.ResponseWriter, _ *http.Request) {
	_, _ = w.Write([]byte("ok\n")) // a client that left
}

// ready is for load balancers: it fails while logs are being opened and from the first moment of a stop.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	if why := s.deps.Ready(); why != "" {
		http.Error(w, why, http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ok\n")) // a client that left
}

// readinessAnswer is what GET /ready gives: readyz for programs that want to know more.
type readinessAnswer struct {
	Ready    bool          `json:"ready"`
	Waiting  string        `json:"waiting,omitempty"` // what keeps the broker from serving
	Warnings []api.Warning `json:"warnings"`
}

// readiness has the status of readyz. Warnings are no reason not to be ready.
func (s *Server) readiness(w http.ResponseWriter, _ *http.Request) {
	a := readinessAnswer{Waiting: s.deps.Ready(), Warnings: s.deps.Node.Warnings()}
	if a.Ready = a.Waiting == ""; a.Warnings == nil {
		a.Warnings = []api.Warning{}
	}
	w.Header().Set("Content-Type", "application/json")
	if !a.Ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	answer(w, a)
}

// answer writes v as JSON, which is never kept by caches: it is true for a moment.
func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(v) // a client that left
}
