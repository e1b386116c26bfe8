package configs

import (
	"encoding/base64"
	"slices"
)

// Gossip is how nodes tell each other who is there (docs/adr/0020). Without an address there is none.
//
// Invariants, which resolveGossip keeps:
//  1. Key has 16, 24 or 32 bytes, or none; without one the address is of this machine for itself.
//  2. Seeds are empty where there is no address.
type Gossip struct {
	Address Endpoint // the zero Endpoint: none
	Key     []byte
	Seeds   []Endpoint
}

const (
	gossipAddressKey = "cluster.gossip.address"
	gossipSeedsKey   = "cluster.gossip.seeds"
	gossipKeyKey     = "cluster.gossip.key"
)

// gossipKeys are Troupe's own: Kafka's nodes do not gossip.
var gossipKeys = []Key{
	{Name: gossipAddressKey, Own: true, Type: String, Importance: Medium,
		Doc: "HOST:PORT, over UDP and TCP, at which this node gossips with the others about who is there; empty: it does not. With an empty host it is told to others by the machine's private address. Without cluster.gossip.key only a loopback address is taken."},
	{Name: gossipSeedsKey, Own: true, Type: List, Importance: Medium,
		Doc: "Gossip addresses of some of the nodes, as HOST:PORT between commas, this node's own perhaps among them: any one that answers tells of all others."},
	{Name: gossipKeyKey, Own: true, Type: Password, Null: true, Importance: Medium,
		Doc: "What gossip is encrypted and authenticated with, the same on every node: base64 of 16, 24 or 32 random bytes (head -c 32 /dev/urandom | base64). A packet that is not made with it changes nothing."},
}

// resolveGossip keeps what could be forged off the network: a packet without a key is anybody's.
func (l Layers) resolveGossip(b *Broker) error {
	g := &b.Gossip
	if text, _ := l.text(gossipKeyKey); text != nil && *text != "" {
		key, err := base64.StdEncoding.Strict().DecodeString(*text)
		if err != nil || !slices.Contains([]int{16, 24, 32}, len(key)) {
			return l.wrong(gossipKeyKey, "expected base64 of 16, 24 or 32 bytes, as of: head -c 32 /dev/urandom | base64")
		}
		g.Key = key
	}
	for _, s := range l.list(gossipSeedsKey) {
		e, err := parseEndpoint(s)
		if err != nil {
			return l.wrong(gossipSeedsKey, "%q: %v", s, err)
		}
		if e.Host == "" || e.Port == 0 {
			return l.wrong(gossipSeedsKey, "%q: expected a host and a port that others listen at", s)
		}
		g.Seeds = append(g.Seeds, e)
	}
	address := l.string(gossipAddressKey)
	if address == "" {
		if len(g.Seeds) > 0 {
			return l.wrong(gossipSeedsKey, "expected %s beside it", gossipAddressKey)
		}
		return nil
	}
	var err error
	if g.Address, err = parseEndpoint(address); err != nil {
		return l.wrong(gossipAddressKey, "%v", err)
	}
	if g.Key == nil && !loopback(g.Address.Host) {
		return l.wrong(gossipAddressKey, "expected %s beside it, or a loopback address: without a key anybody who reaches it could tell of nodes", gossipKeyKey)
	}
	return nil
}
