package configs

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"troupe/internal/model"
)

// Endpoint is a host and a port. An empty host is every address of the machine where it is listened on.
type Endpoint struct {
	Host string
	Port uint16
}

// String gives HOST:PORT, with brackets round an IPv6 address.
func (e Endpoint) String() string { return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))) }

// Listener is one address that the broker accepts connections on. Advertised is what clients are told: port 0 stands
// for the port that was bound, and an empty host says that the listener is not told to anyone.
type Listener struct {
	Name       string // upper case
	Protocol   string // PLAINTEXT
	Bind       Endpoint
	Advertised Endpoint
	Controller bool // serves the quorum, not clients
}

// Voter is one entry of controller.quorum.voters.
type Voter struct {
	ID model.BrokerID
	Endpoint
}

// parseEndpoint reads HOST:PORT; the host may be empty.
func parseEndpoint(s string) (Endpoint, error) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return Endpoint{}, fmt.Errorf("expected HOST:PORT, with brackets round an IPv6 address")
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return Endpoint{}, fmt.Errorf("expected a port from 0 to 65535, not %q", port)
	}
	return Endpoint{host, uint16(n)}, nil
}

// parseVoter reads ID@HOST:PORT, the form of controller.quorum.voters.
func parseVoter(s string) (Voter, error) {
	id, address, found := strings.Cut(s, "@")
	n, err := strconv.ParseInt(id, 10, 32)
	if !found || err != nil || n < 0 {
		return Voter{}, fmt.Errorf("expected ID@HOST:PORT")
	}
	e, err := parseEndpoint(address)
	if err != nil {
		return Voter{}, err
	}
	return Voter{model.BrokerID(n), e}, nil
}

// named is one element of listeners or advertised.listeners.
type named struct {
	name string
	Endpoint
}

// parseNamed reads NAME://HOST:PORT elements. Names are compared in upper case, as Kafka does.
func parseNamed(list []string) ([]named, error) {
	var all []named
	for _, s := range list {
		name, address, found := strings.Cut(s, "://")
		if !found || name == "" {
			return nil, fmt.Errorf("%q: expected NAME://HOST:PORT", s)
		}
		e, err := parseEndpoint(address)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", s, err)
		}
		all = append(all, named{strings.ToUpper(name), e})
	}
	return all, nil
}

// parseProtocols reads NAME:PROTOCOL pairs.
func parseProtocols(text string) (map[string]string, error) {
	protocols := map[string]string{}
	for _, pair := range splitList(text) {
		name, protocol, found := strings.Cut(pair, ":")
		protocol = strings.ToUpper(strings.TrimSpace(protocol))
		if !found || !slices.Contains(securityProtocols, protocol) {
			return nil, fmt.Errorf("%q: expected NAME:PROTOCOL with a protocol of %s", pair, strings.Join(securityProtocols, ", "))
		}
		protocols[strings.ToUpper(strings.TrimSpace(name))] = protocol
	}
	return protocols, nil
}

// securityProtocols may all stand in the map, since Kafka's shipped file maps each to itself; a listener that uses any
// but the first is refused.
var securityProtocols = []string{"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"}

// clash tells whether two listeners cannot both be bound. Two free ports never clash, nor do two different addresses,
// or an IPv4 and an IPv6 one (KIP-797).
func clash(a, b Endpoint) bool {
	if a.Port == 0 || a.Port != b.Port {
		return false
	}
	return a.Host == b.Host || everywhere(a.Host) && sameFamily(a, b) || everywhere(b.Host) && sameFamily(a, b)
}

// Everywhere tells whether a host stands for every address of the machine: nobody else reaches it by that.
func Everywhere(host string) bool { return everywhere(host) }

func everywhere(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "" || err == nil && ip.IsUnspecified()
}

// sameFamily is true unless both hosts are addresses, one IPv4 and one IPv6. An empty host listens on both.
func sameFamily(a, b Endpoint) bool {
	x, errX := netip.ParseAddr(a.Host)
	y, errY := netip.ParseAddr(b.Host)
	return errX != nil || errY != nil || x.Is4() == y.Is4()
}
