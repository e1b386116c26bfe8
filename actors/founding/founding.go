// Package founding brings a node to its first cluster, before the node has any actor: it shows the other nodes what it is,
// looks at what they show, and ends when the machine of cluster/founding has come to an outcome.
package founding

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"troupe/actors/journal"
	"troupe/cluster/founding"
	"troupe/codec/batch"
	"troupe/codec/private"
	"troupe/configs"
	"troupe/internal/model"
	"troupe/internal/vfs"
)

// Options of a search. All but ClusterID and Scout are required.
type Options struct {
	FS     vfs.FS
	Dir    string // of the metadata log; it is locked by the caller
	Config *configs.Broker
	// Incarnation tells this process from another one with the same node.id.
	Incarnation model.UUID
	// ClusterID is what the operator calls a new cluster; empty draws an id.
	ClusterID string
	Log       *slog.Logger
	// Scout gives controllers of a cluster that are known elsewhere than in the configuration; nil where nobody knows any.
	Scout func(context.Context) ([]configs.Endpoint, error)
}

// Found is what came of it.
type Found struct {
	founding.Outcome
	// Directory is the id that the metadata directory has from now on.
	Directory model.DirectoryID
}

// lookEvery is the pause between two looks at the others: a cluster of nodes that start together takes a few of them.
const lookEvery = 20 * time.Millisecond

// scoutEvery parts two questions to those who may know of a cluster. A cluster that is found by the configuration is found
// before the first.
const scoutEvery = time.Second

// Needed tells whether a node whose directories are new has to look for others.
func Needed(c *configs.Broker) bool {
	return !c.Roles.Controller || len(c.Quorum.Voters) > 1 || len(c.Quorum.Voters) == 0 && c.Quorum.InitialVoters != 1
}

// search is a node on its way.
type search struct {
	options Options
	machine *founding.Machine
	// seeds are the nodes of the cluster that this node joins, as they were met.
	seeds  []batch.Voter
	first  []configs.Endpoint // of the nodes that found a cluster
	beyond []configs.Endpoint

	mu      sync.Mutex
	shown   founding.State
	scouted []configs.Endpoint
	// missed is why nobody was met at an address, at the last look.
	missed map[configs.Endpoint]error
}

// Search ends when this node belongs to a cluster, which is on its disk then, or with ctx, or with an error of the disk or
// of a port.
func Search(ctx context.Context, o Options) (Found, error) {
	s := &search{options: o}
	state, err := s.load()
	if err != nil {
		return Found{}, err
	}
	votes := s.addresses()
	s.machine = founding.New(state, votes, s.drawID)
	if err := s.show(); err != nil {
		return Found{}, err
	}
	var served sync.WaitGroup
	defer served.Wait()
	ctx, end := context.WithCancel(ctx)
	defer end()
	for _, l := range o.Config.Listeners {
		if !l.Controller {
			continue
		}
		socket, err := net.Listen("tcp", net.JoinHostPort(l.Bind.Host, fmt.Sprint(l.Bind.Port)))
		if err != nil {
			return Found{}, fmt.Errorf("listener %s cannot be opened (listeners): %w", l.Name, err)
		}
		served.Go(func() { s.serve(ctx, socket) })
	}
	if o.Scout != nil {
		served.Go(func() { s.scout(ctx) })
	}
	return s.look(ctx)
}

// scout asks once in a while where else a cluster may be. The first voters are those of the configuration all the same.
func (s *search) scout(ctx context.Context) {
	every := time.NewTicker(scoutEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		found, err := s.options.Scout(ctx)
		if err != nil {
			s.options.Log.Debug("nobody was asked for a cluster", "err", err)
		}
		s.mu.Lock()
		s.scouted = found
		s.mu.Unlock()
	}
}

// elsewhere are the addresses beyond those of the first voters.
func (s *search) elsewhere() []configs.Endpoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Concat(s.beyond, s.scouted)
}

// addresses sorts out whom to look at, and gives how many nodes found a cluster. With kraft.version 0 they are named.
func (s *search) addresses() int {
	q := &s.options.Config.Quorum
	for _, v := range q.Voters {
		s.first = append(s.first, v.Endpoint)
	}
	n := len(q.Voters)
	if n == 0 {
		n = int(q.InitialVoters)
		s.first, s.beyond = q.Bootstrap[:n], q.Bootstrap[n:]
	}
	if !s.options.Config.Roles.Controller {
		return 0
	}
	return n
}

// drawID makes the id of a cluster, in Kafka's form.
func (s *search) drawID() string {
	if s.options.ClusterID != "" {
		return s.options.ClusterID
	}
	return model.RandomUUID().String()
}

// self is this node as it would vote.
func (s *search) self(directory model.DirectoryID) batch.Voter {
	me := batch.Voter{ID: s.options.Config.NodeID, DirectoryID: directory, MostKRaftVersion: 1}
	for _, l := range s.options.Config.Listeners {
		if l.Controller {
			me.Endpoints = append(me.Endpoints, batch.VoterEndpoint{Name: l.Name, Host: l.Advertised.Host, Port: l.Advertised.Port})
		}
	}
	return me
}

// show saves the state, and then shows it.
func (s *search) show() error {
	state := s.machine.State()
	if err := s.save(state); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown = state
	return nil
}

// showing is what this node tells of itself.
func (s *search) showing() (private.Identity, *private.Founding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return private.Identity{
		NodeID: s.options.Config.NodeID, Directory: s.shown.Voter.DirectoryID, Incarnation: s.options.Incarnation,
		MinVersion: private.Version, MaxVersion: private.Version,
	}, encode(s.shown)
}

// look goes round until there is an outcome.
func (s *search) look(ctx context.Context) (Found, error) {
	var waiting journal.Reminder
	for {
		first, beyond := s.visit(ctx, s.first), s.visit(ctx, s.elsewhere())
		before := s.machine.State().Accepted
		out, err := s.machine.Look(first, beyond)
		if s.machine.State().Accepted != before {
			if err := s.show(); err != nil {
				return Found{}, err
			}
		}
		if out.ClusterID != "" {
			if out.Voters == nil {
				s.seeds = seeds(out.ClusterID, first, beyond)
				if err := s.save(s.machine.State()); err != nil {
					return Found{}, err
				}
			}
			return Found{out, s.machine.State().Voter.DirectoryID}, nil
		}
		text := s.reason(first, err)
		if lasted, due := waiting.Due(time.Now(), text); due {
			s.options.Log.Warn("this node belongs to no cluster yet", "reason", text, "for", lasted.Round(time.Second).String())
		}
		select {
		case <-ctx.Done():
			return Found{}, context.Cause(ctx)
		case <-time.After(lookEvery):
		}
	}
}

// seeds are the nodes of a cluster among those that were met.
func seeds(clusterID string, met ...[]founding.State) (list []batch.Voter) {
	for _, s := range slices.Concat(met...) {
		if s.ClusterID == clusterID {
			list = append(list, s.Voter)
		}
	}
	return list
}

// reason says what the search waits for.
func (s *search) reason(first []founding.State, err error) string {
	if err != nil {
		return err.Error()
	}
	c := s.options.Config
	switch {
	case c.Quorum.InitialVoters == 0 && len(c.Quorum.Voters) == 0 && !c.Roles.Controller:
		return "no node of a cluster is found at controller.quorum.bootstrap.servers" + s.nobody()
	case c.Quorum.InitialVoters == 0 && len(c.Quorum.Voters) == 0:
		return "no node of a cluster is found at controller.quorum.bootstrap.servers, and this one founds none (controller.quorum.initial.voters)" + s.nobody()
	case len(first) == len(s.first):
		return fmt.Sprintf("the %d nodes that found the cluster are found, and have not agreed yet", len(first))
	}
	return fmt.Sprintf("%d of the %d nodes that found the cluster are found", len(first), len(s.first)) + s.nobody()
}

// nobody lists the addresses where nobody was met, with what became of the last attempt.
func (s *search) nobody() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for at, err := range s.missed {
		all = append(all, fmt.Sprintf("%s (%v)", at, err))
	}
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	return "; nobody at " + strings.Join(all, ", ")
}

// note keeps how the last visit to an address ended.
func (s *search) note(at configs.Endpoint, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.missed == nil {
		s.missed = map[configs.Endpoint]error{}
	}
	if delete(s.missed, at); err != nil {
		s.missed[at] = err
	}
}

// visit looks at all addresses at once; those where nobody answers are left out, and this node is among them as it is.
func (s *search) visit(ctx context.Context, addresses []configs.Endpoint) []founding.State {
	found := make([]*founding.State, len(addresses))
	var visits sync.WaitGroup
	for i, a := range addresses {
		visits.Go(func() {
			state, err := s.meet(ctx, a)
			s.note(a, err)
			found[i] = state
		})
	}
	visits.Wait()
	states := make([]founding.State, 0, len(found))
	for _, f := range slices.DeleteFunc(found, func(f *founding.State) bool { return f == nil }) {
		states = append(states, *f)
	}
	return states
}
