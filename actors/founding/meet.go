package founding

import (
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"troupe/cluster/founding"
	"troupe/codec/batch"
	"troupe/codec/frame"
	"troupe/codec/private"
	"troupe/configs"
	"troupe/internal/model"
	"troupe/internal/socket"
)

// Two nodes meet by a handshake (private.HelloRequest), to which one that belongs to no cluster answers with what it has
// accepted.

// meetWithin bounds a meeting, and helloMax the frames of one.
const (
	meetWithin = time.Second
	helloMax   = 64 << 10
)

// meet asks at an address; the error is why nobody was met there.
func (s *search) meet(ctx context.Context, at configs.Endpoint) (*founding.State, error) {
	ctx, cancel := context.WithTimeout(ctx, meetWithin)
	defer cancel()
	resp, err := s.greet(ctx, at)
	if err != nil {
		return nil, err
	}
	state, err := decode(resp)
	if err == nil && state.ClusterID != "" {
		// As far as this node can tell: the cluster itself knows better, once it is asked.
		state.Voter.Endpoints = []batch.VoterEndpoint{{Name: s.options.Config.Quorum.Listener, Host: at.Host, Port: at.Port}}
	}
	return state, err
}

// greet is the handshake.
func (s *search) greet(ctx context.Context, at configs.Endpoint) (*private.HelloResponse, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", at.String())
	if err != nil {
		return nil, socket.Cause(err)
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return nil, err
		}
	}
	me, _ := s.showing()
	req := &private.HelloRequest{Node: me}
	b := req.AppendTo(frame.AppendRequestHeader(frame.Begin(nil), frame.RequestHeader{Key: req.Key()}))
	frame.End(b, 0, 0)
	if _, err := conn.Write(b); err != nil {
		return nil, socket.Cause(err)
	}
	answer, err := readFrame(conn)
	if err != nil {
		return nil, socket.Cause(err)
	}
	_, _, body, err := frame.ParseResponseHeader(answer, req.Key(), 0)
	if err != nil {
		return nil, err
	}
	var resp private.HelloResponse
	return &resp, resp.ReadFrom(body)
}

func readFrame(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n, err := frame.Size(size[:], helloMax)
	if err != nil {
		return nil, err
	}
	return frame.ReadBody(r, nil, n)
}

// serve answers handshakes until ctx ends; everything else is hung up on, and comes again.
func (s *search) serve(ctx context.Context, socket net.Listener) {
	defer context.AfterFunc(ctx, func() { _ = socket.Close() })()
	for ctx.Err() == nil {
		conn, err := socket.Accept()
		if err == nil {
			s.answer(conn)
			continue
		}
		select { // out of descriptors, or over
		case <-ctx.Done():
		case <-time.After(lookEvery):
		}
	}
}

// answer is quick: whoever is not does not get one.
func (s *search) answer(conn net.Conn) {
	defer conn.Close()
	if conn.SetDeadline(time.Now().Add(meetWithin/10)) != nil {
		return
	}
	b, err := readFrame(conn)
	if err != nil {
		return
	}
	h, body, err := frame.ParseRequestHeader(b)
	var req private.HelloRequest
	if err != nil || h.Key != private.HelloKey || req.ReadFrom(body) != nil {
		return
	}
	resp := &private.HelloResponse{}
	resp.Node, resp.Founding = s.showing()
	out := resp.AppendTo(frame.AppendResponseHeader(frame.Begin(nil), h.Key, h.Version, h.CorrelationID, nil))
	frame.End(out, 0, 0)
	if _, err := conn.Write(out); err != nil {
		s.options.Log.Debug("a node has not heard the answer", "node", req.Node.NodeID, "err", err)
	}
}

// encode is the form of a state on the wire.
func encode(s founding.State) *private.Founding {
	f := &private.Founding{Voter: batch.Voters{Voters: []batch.Voter{s.Voter}}.AppendValue(nil), Proposer: model.NoBroker}
	if a := s.Accepted; a != nil {
		f.ClusterID, f.Proposer, f.Voters = a.ClusterID, a.Proposer, batch.Voters{Voters: a.Voters}.AppendValue(nil)
	}
	return f
}

// decode reads it. A node of a cluster shows that alone.
func decode(r *private.HelloResponse) (*founding.State, error) {
	state := &founding.State{Voter: batch.Voter{ID: r.Node.NodeID, DirectoryID: r.Node.Directory}, ClusterID: r.Node.ClusterID}
	f := r.Founding
	if f == nil {
		if state.ClusterID == "" {
			return nil, fmt.Errorf("node %d belongs to no cluster and does not look for one", r.Node.NodeID)
		}
		return state, nil
	}
	self, err := voters(f.Voter)
	if err != nil {
		return nil, fmt.Errorf("node %d: %w", r.Node.NodeID, err)
	}
	if len(self) != 1 {
		return nil, fmt.Errorf("node %d tells of %d voters for itself, expected 1", r.Node.NodeID, len(self))
	}
	state.Voter = self[0]
	if f.ClusterID == "" {
		return state, nil
	}
	all, err := voters(f.Voters)
	if err != nil {
		return nil, err
	}
	state.Accepted = &founding.Proposal{ClusterID: f.ClusterID, Proposer: f.Proposer, Voters: all}
	return state, nil
}

// voters reads the value of a KRAFT_VOTERS record, whose key says nothing more than that it is one.
func voters(value []byte) ([]batch.Voter, error) {
	c, err := batch.ParseControl([]byte{0, 0, 0, byte(batch.VotersType)}, value)
	if err != nil {
		return nil, err
	}
	return c.(batch.Voters).Voters, nil
}
