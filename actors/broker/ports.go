package broker

import (
	"fmt"
	"net"
	"slices"

	"troupe/configs"
)

func openListener(l configs.Listener) (net.Listener, error) {
	s, err := net.Listen("tcp", net.JoinHostPort(l.Bind.Host, fmt.Sprint(l.Bind.Port)))
	if err != nil {
		return nil, fmt.Errorf("listener %s cannot be opened (listeners): %w", l.Name, err)
	}
	return s, nil
}

func openAdmin(address string) (net.Listener, error) {
	s, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("admin port cannot be opened (admin.address): %w", err)
	}
	return s, nil
}

// tryPorts finds ports that are taken before a start that may wait for others. They are not kept: whoever connects meanwhile
// is refused, and need not wait too.
func tryPorts(c *configs.Broker) error {
	var tried []net.Listener
	defer func() {
		for _, s := range tried {
			_ = s.Close() // nothing was accepted from it
		}
	}()
	clients := slices.DeleteFunc(slices.Clone(c.Listeners), func(l configs.Listener) bool { return l.Controller })
	for _, l := range clients {
		s, err := openListener(l)
		if err != nil {
			return err
		}
		tried = append(tried, s)
	}
	if c.Admin.Address == "" {
		return nil
	}
	s, err := openAdmin(c.Admin.Address)
	if err == nil {
		tried = append(tried, s)
	}
	return err
}
