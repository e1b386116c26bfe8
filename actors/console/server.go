// Package console is the admin port: metrics, health, profiles, the tree of actors and their traces.
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
	"troupe/actors/trace"
)

// Deps is what the admin port shows.
type Deps struct {
	Log    *slog.Logger
	System *kit.System
	Tracer *trace.Tracer
	Node   *api.Node
	// Ready tells what keeps the broker from serving; empty when it serves.
	Ready func() string
	// Connections is how many clients are connected.
	Connections func() int64
}

// Server serves one admin address.
type Server struct {
	deps   Deps
	socket net.Listener
	http   *http.Server
}

// Listen opens the address; Serve answers on it.
func Listen(address string) (net.Listener, error) { return net.Listen("tcp", address) }

// New makes the server of an open socket.
func New(socket net.Listener, d Deps) *Server {
	s := &Server{deps: d, socket: socket}
	s.http = &http.Server{Handler: s.routes(), ReadHeaderTimeout: 10 * time.Second}
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

func (s *Server) routes() *http.ServeMux {
	m := http.NewServeMux()
	m.HandleFunc("GET /livez", s.live)
	m.HandleFunc("GET /readyz", s.ready)
	m.HandleFunc("GET /actors", s.actors)
	m.HandleFunc("GET /debug/pprof/", pprof.Index)
	m.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	m.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	m.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	m.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	return m
}

func (s *Server) live(w http.ResponseWriter, _ *http.Request) {
	_, _ = w.Write([]byte("ok\n"))
}

func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	if why := s.deps.Ready(); why != "" {
		http.Error(w, why, http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}

func (s *Server) actors(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(s.deps.System.Tree()) // a client that left
}
