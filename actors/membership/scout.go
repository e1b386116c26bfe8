package membership

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"github.com/hashicorp/memberlist"

	"troupe/configs"
)

// Scout asks the seeds, for a node that belongs to no cluster yet, where the controllers of one are. It becomes a member
// nowhere: those whom it asks know what a record without a cluster's id means.
func Scout(ctx context.Context, g *configs.Gossip, self Record, log *slog.Logger) ([]Address, error) {
	self.ClusterID = ""
	meta, err := self.Append(nil)
	if err != nil {
		return nil, err
	}
	here := *g
	here.Address.Port = 0 // nobody asks it anything
	c, err := config(&here, self.name(), &lines{log: log, refused: func(string) {}, doubted: func(string) {}})
	if err != nil {
		return nil, err
	}
	s := &scout{delegate: delegate{meta: meta}}
	c.Delegate, c.Merge, c.Alive = s, s, s
	list, err := create(c)
	if err != nil {
		return nil, err
	}
	var seeds []string
	for _, seed := range g.Seeds {
		seeds = append(seeds, seed.String())
	}
	_, _ = list.Join(resolved(ctx, seeds)) // it ends with errLooking, where anybody was found
	err = list.Shutdown()
	return s.list(), err
}

// scout is what memberlist calls meanwhile.
type scout struct {
	delegate

	mu    sync.Mutex
	found []Address
}

// errLooking keeps what a scout has seen from becoming members.
var errLooking = errors.New("this node only looks for a cluster")

// NotifyMsg is part of memberlist.Delegate.
func (s *scout) NotifyMsg([]byte) {}

// NotifyAlive lets the node itself in, and nobody else.
func (s *scout) NotifyAlive(n *memberlist.Node) error {
	if r, err := parse(n.Meta); err != nil || r.ClusterID != "" {
		return errLooking
	}
	return nil
}

// NotifyMerge notes where the controllers of a cluster are that a seed tells of.
func (s *scout) NotifyMerge(nodes []*memberlist.Node) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range nodes {
		r, err := parse(n.Meta)
		if err == nil && r.ClusterID != "" && r.Controller.Host != "" && n.State == memberlist.StateAlive && !slices.Contains(s.found, r.Controller) {
			s.found = append(s.found, r.Controller)
		}
	}
	return errLooking
}

func (s *scout) list() []Address {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.found
}
