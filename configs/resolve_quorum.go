package configs

import (
	"net/netip"
	"slices"
	"strings"
)

const (
	votersKey    = "controller.quorum.voters"
	bootstrapKey = "controller.quorum.bootstrap.servers"
	firstKey     = "controller.quorum.initial.voters"
)

// resolveQuorum takes a static quorum (KIP-595), which names its voters, or the addresses of a dynamic one (KIP-853). A
// node with neither is a quorum by itself.
func (l Layers) resolveQuorum(b *Broker) error {
	for _, s := range l.list(votersKey) {
		v, err := parseVoter(s)
		if err != nil {
			return l.wrong(votersKey, "%v", err)
		}
		if i := slices.IndexFunc(b.Quorum.Voters, func(x Voter) bool { return x.ID == v.ID || x.Endpoint == v.Endpoint }); i >= 0 {
			return l.wrong(votersKey, "expected different nodes at different addresses, and %d@%s and %d@%s are not",
				b.Quorum.Voters[i].ID, b.Quorum.Voters[i].Endpoint, v.ID, v.Endpoint)
		}
		b.Quorum.Voters = append(b.Quorum.Voters, v)
	}
	for _, s := range l.list(bootstrapKey) {
		e, err := parseEndpoint(s)
		if err != nil {
			return l.wrong(bootstrapKey, "%v", err)
		}
		b.Quorum.Bootstrap = append(b.Quorum.Bootstrap, e)
	}
	if names := upper(l.list("controller.listener.names")); len(names) > 0 {
		b.Quorum.Listener = names[0]
	}
	return l.checkVoter(b)
}

// checkVoter holds the voters against the roles.
func (l Layers) checkVoter(b *Broker) error {
	q := &b.Quorum
	votes := slices.ContainsFunc(q.Voters, func(v Voter) bool { return v.ID == b.NodeID })
	switch {
	case b.Roles.Controller && len(q.Voters) > 0 && !votes:
		return l.wrong(votersKey, "expected node.id, which is %d, among the voters", b.NodeID)
	case !b.Roles.Controller && votes:
		return l.wrong(votersKey, "expected other nodes than node.id, which is %d: it is no controller by process.roles", b.NodeID)
	case !b.Roles.Controller && len(q.Voters)+len(q.Bootstrap) == 0:
		return l.wrong("process.roles", "expected %s or %s beside it, or controller too: a broker has to find the controllers",
			bootstrapKey, votersKey)
	case !b.Roles.Broker && len(q.Voters)+len(q.Bootstrap) == 0:
		return l.wrong("process.roles", "expected %s or %s beside it, or broker too: who has no other role is part of a quorum that others find",
			bootstrapKey, votersKey)
	case q.Listener == "" && !b.Roles.Broker:
		return l.wrong("controller.listener.names", "not set; expected the names in listeners: a controller that is no broker has no other listeners")
	case q.Listener == "" && (!b.Roles.Controller || len(q.Voters) > 1 || len(q.Bootstrap) > 1):
		return l.wrong("controller.listener.names", "not set; expected the listener on which the nodes of the quorum reach each other")
	}
	return nil
}

// resolveFirstVoters decides who makes a new cluster. Without the key a node does it alone where it knows of no other:
// of none at all, or of its own address only, as in the file that Kafka ships.
func (l Layers) resolveFirstVoters(b *Broker) error {
	q := &b.Quorum
	switch {
	case !b.Roles.Controller:
		q.InitialVoters = 0
	case q.InitialVoters > 0 && len(q.Voters) > 0:
		return l.wrong(firstKey, "expected %s beside it, not %s, which names the voters", bootstrapKey, votersKey)
	case int(q.InitialVoters) > max(1, len(q.Bootstrap)):
		return l.wrong(firstKey, "expected no more than the addresses in %s, which are %d", bootstrapKey, len(q.Bootstrap))
	case q.InitialVoters == 1 && len(q.Bootstrap) > 0 && !l.own(b, q.Bootstrap[0]):
		return l.wrong(firstKey, "this node would found a cluster of its own, and %s begins with %s, which is not known to be its own controller listener; "+
			"expected 0 to join the cluster there, or that address in advertised.listeners", bootstrapKey, q.Bootstrap[0])
	case q.InitialVoters == 0 && len(q.Voters) == 0 && (len(q.Bootstrap) == 0 || len(q.Bootstrap) == 1 && l.own(b, q.Bootstrap[0])):
		q.InitialVoters = 1
	}
	return nil
}

// own tells whether an address leads to a controller listener of this node, as far as can be told without a resolver.
func (l Layers) own(b *Broker, e Endpoint) bool {
	return slices.ContainsFunc(b.Listeners, func(x Listener) bool {
		if !x.Controller || e.Port != x.Bind.Port {
			return x.Controller && e == x.Advertised
		}
		return e.Host == x.Bind.Host || e.Host == x.Advertised.Host || everywhere(x.Bind.Host) && (loopback(e.Host) || strings.EqualFold(e.Host, l.Hostname)) ||
			loopback(x.Bind.Host) && loopback(e.Host) && (x.Bind.Host == localhost || e.Host == localhost)
	})
}

// localhost may be any address of the loopback; of two such addresses each is a place of its own.
const localhost = "localhost"

// loopback tells whether a host is this machine for itself.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == localhost || err == nil && ip.IsLoopback()
}
