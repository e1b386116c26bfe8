package membership

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"

	"troupe/actors/kit"
	"troupe/configs"
)

// The pace of gossip. A node asks another one each probeEvery. One that answers neither within answerWithin, nor by way of
// others or by TCP until that time is over, is doubted, which is when its links are asked; and it is suspected another
// probeEvery later (memberlist's suspicion of 1 among up to ten nodes). With three nodes a doubt comes 200 to 600 ms after a
// node's end, on average after 330 ms (docs/adr/0020).
const (
	probeEvery   = 200 * time.Millisecond
	answerWithin = 80 * time.Millisecond
	// gossipEvery is how often news is passed on that no probe carries.
	gossipEvery = 200 * time.Millisecond
	// syncEvery is how often two nodes compare all that they know.
	syncEvery = 30 * time.Second
	// streamWithin bounds that, and the search for a seed.
	streamWithin = 2 * time.Second
	// reclaimAfter lets a node that failed come back at another address.
	reclaimAfter = time.Millisecond
	// seekEvery is how often seeds are tried while fewer nodes are known than there are seeds: at the start, and after two
	// halves of a cluster have lost sight of each other for long.
	seekEvery = 2 * time.Second
	// leaveWithin bounds how long a node waits for its farewell to go out.
	leaveWithin = 200 * time.Millisecond
)

// label marks the packets of this use of memberlist. It keeps those of other software out before anything is decrypted.
const label = "troupe"

// Options of gossip. All are required.
type Options struct {
	Config *configs.Gossip
	Self   Record
	To     kit.Ref // the membership actor
	Log    *slog.Logger
}

// Gossip is memberlist at work: its goroutines, and one that looks for seeds.
type Gossip struct {
	list   *memberlist.Memberlist
	seeds  []string
	self   Record
	cancel context.CancelFunc
	seeker sync.WaitGroup
	once   sync.Once
}

// Open begins to gossip. Error: the record is too large, or the port is taken.
func Open(o Options) (*Gossip, error) {
	meta, err := o.Self.Append(nil)
	if err != nil {
		return nil, fmt.Errorf("gossip (cluster.gossip.address): %w", err)
	}
	d := &delegate{self: o.Self, meta: meta, to: o.To}
	c, err := config(o.Config, o.Self.name(), &lines{log: o.Log, refused: d.refuse, doubted: d.doubt})
	if err != nil {
		return nil, fmt.Errorf("gossip cannot begin at %s (cluster.gossip.address): %w", o.Config.Address, err)
	}
	c.Delegate, c.Events, c.Alive, c.Merge, c.Conflict = d, d, d, d, d
	list, err := create(c)
	if err != nil {
		return nil, fmt.Errorf("gossip cannot begin at %s (cluster.gossip.address): %w", o.Config.Address, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	g := &Gossip{list: list, self: o.Self, cancel: cancel}
	own := list.LocalNode().Address()
	for _, s := range o.Config.Seeds {
		if s.String() != own && s != o.Config.Address {
			g.seeds = append(g.seeds, s.String())
		}
	}
	g.seeker.Go(func() { g.seek(ctx) })
	return g, nil
}

// config is memberlist's, for a network without losses to speak of, and begins to listen.
func config(g *configs.Gossip, name string, out io.Writer) (*memberlist.Config, error) {
	host, err := resolve(context.Background(), g.Address.Host)
	if err != nil {
		return nil, err
	}
	sockets, err := listen(netip.AddrPortFrom(host, g.Address.Port))
	if err != nil {
		return nil, err
	}
	c := memberlist.DefaultLANConfig()
	c.Name, c.Label, c.Transport = name, label, sockets
	c.SecretKey = g.Key
	c.ProbeInterval, c.ProbeTimeout = probeEvery, answerWithin
	c.SuspicionMult, c.SuspicionMaxTimeoutMult = 1, 1
	c.GossipInterval, c.PushPullInterval = gossipEvery, syncEvery
	c.TCPTimeout, c.DeadNodeReclaimTime = streamWithin, reclaimAfter
	c.EnableCompression = false // a record is too small for it
	c.Logger = log.New(out, "", 0)
	return c, nil
}

// create begins to gossip; the sockets end with it where it cannot.
func create(c *memberlist.Config) (*memberlist.Memberlist, error) {
	list, err := memberlist.Create(c)
	if err != nil {
		return nil, errors.Join(err, c.Transport.Shutdown())
	}
	return list, nil
}

// resolve gives the address of a host, and an empty one for all of this machine.
func resolve(ctx context.Context, host string) (netip.Addr, error) {
	if host == "" {
		return netip.IPv4Unspecified(), nil
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip, nil
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return netip.Addr{}, err
	}
	return found[0].Unmap(), nil
}

// seek joins the others by the seeds, for as long as fewer are known than there are seeds.
func (g *Gossip) seek(ctx context.Context) {
	every := time.NewTicker(seekEvery)
	defer every.Stop()
	for {
		if g.list.NumMembers() <= len(g.seeds) {
			for _, seed := range g.unmet(resolved(ctx, g.seeds)) {
				if ctx.Err() == nil {
					_, _ = g.list.Join([]string{seed}) // it may not have been started yet
				}
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}

// unmet leaves out the seeds at which a node is that answers.
func (g *Gossip) unmet(seeds []string) []string {
	members := g.list.Members()
	return slices.DeleteFunc(seeds, func(seed string) bool {
		return slices.ContainsFunc(members, func(n *memberlist.Node) bool { return n.Address() == seed })
	})
}

// resolved looks seeds up by the system's resolver; memberlist has ways of its own, which ask name servers for more.
func resolved(ctx context.Context, seeds []string) []string {
	var found []string
	for _, s := range seeds {
		host, port, err := net.SplitHostPort(s)
		if err != nil {
			continue
		}
		if ip, err := resolve(ctx, host); err == nil {
			found = append(found, net.JoinHostPort(ip.String(), port))
		}
	}
	return found
}

// Leave says farewell and ends. The others take this node for gone without having to find out.
func (g *Gossip) Leave() {
	g.once.Do(func() {
		g.sayFarewell()
		_ = g.list.Leave(leaveWithin) // as it is said by now, nothing depends on it
		g.sayFarewell()               // a packet may have been lost
		g.end()
	})
}

func (g *Gossip) sayFarewell() {
	farewell := sayFarewell(&g.self)
	for _, n := range g.list.Members() {
		if n.Name != g.self.name() {
			_ = g.list.SendBestEffort(n, farewell) // who misses it asks in vain
		}
	}
}

// Close ends without a word, as a process that is killed does.
func (g *Gossip) Close() { g.once.Do(g.end) }

func (g *Gossip) end() {
	g.cancel()
	_ = g.list.Shutdown() // of sockets that are closed
	g.seeker.Wait()
}
