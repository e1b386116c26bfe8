package configs

import (
	"cmp"
	"slices"
	"strings"
)

// resolveListeners builds the listeners from four keys: addresses, protocols, which ones are the controllers', and
// what is advertised:
//
//	listeners=CLIENTS://:9092,CONTROLLER://:9093
//	listener.security.protocol.map=CLIENTS:PLAINTEXT,CONTROLLER:PLAINTEXT
//	controller.listener.names=CONTROLLER
//	advertised.listeners=CLIENTS://broker.example:9092
//
// The rules are Kafka's; where Kafka would look a host up, Hostname is used.
func (l Layers) resolveListeners(b *Broker) error {
	addresses, err := parseNamed(l.list("listeners"))
	if err != nil {
		return l.wrong("listeners", "%v", err)
	}
	protocols, err := l.protocols()
	if err != nil {
		return err
	}
	controllers := upper(l.list("controller.listener.names"))
	for i, a := range addresses {
		for _, before := range addresses[:i] {
			if before.name == a.name {
				return l.wrong("listeners", "expected different names, and %s is there twice", a.name)
			}
			if clash(before.Endpoint, a.Endpoint) {
				return l.wrong("listeners", "expected different ports, and %s and %s both want %d", before.name, a.name, a.Port)
			}
		}
		protocol, known := protocols[a.name]
		if !known {
			return l.wrong("listener.security.protocol.map", "expected a protocol for the listener %s", a.name)
		}
		switch {
		case protocol == "PLAINTEXT":
		case strings.HasPrefix(protocol, "SASL_"):
			return l.wrong("listeners", "%s would speak %s, and %s", a.name, protocol, noSASL)
		default:
			return l.wrong("listeners", "%s would speak %s, and %s", a.name, protocol, noTLS)
		}
		b.Listeners = append(b.Listeners, Listener{Name: a.name, Protocol: protocol, Bind: a.Endpoint,
			Controller: slices.Contains(controllers, a.name)})
	}
	if err := l.checkControllers(b, controllers); err != nil {
		return err
	}
	if err := l.advertise(b); err != nil {
		return err
	}
	return l.resolveInterBroker(b)
}

// checkControllers holds the listeners against the roles: a controller has one for the quorum, if any is named for it, a
// broker that is no controller has none, and a controller that is no broker has no others.
func (l Layers) checkControllers(b *Broker, names []string) error {
	const key = "controller.listener.names"
	serves := slices.ContainsFunc(b.Listeners, func(x Listener) bool { return x.Controller })
	clients := slices.IndexFunc(b.Listeners, func(x Listener) bool { return !x.Controller })
	missing := slices.IndexFunc(names, func(name string) bool {
		return !slices.ContainsFunc(b.Listeners, func(x Listener) bool { return x.Name == name })
	})
	switch {
	case clients >= 0 && !b.Roles.Broker:
		return l.wrong("listeners", "expected only names that are in %s, and %s is not: this node is no broker by process.roles",
			key, b.Listeners[clients].Name)
	case missing >= 0 && b.Roles.Controller:
		return l.wrong(key, "expected names that are in listeners, and %s is not", names[missing])
	case serves && !b.Roles.Controller:
		return l.wrong(key, "expected names that are not in listeners: process.roles does not say controller")
	}
	return nil
}

// protocols maps listener names. A controller listener is PLAINTEXT unless the map was set.
func (l Layers) protocols() (map[string]string, error) {
	const key = "listener.security.protocol.map"
	protocols, err := parseProtocols(l.string(key))
	if err != nil {
		return nil, l.wrong(key, "%v", err)
	}
	if set, _ := l.text(key); set == nil {
		for _, name := range upper(l.list("controller.listener.names")) {
			if _, known := protocols[name]; !known {
				protocols[name] = "PLAINTEXT"
			}
		}
	}
	return protocols, nil
}

// advertise says what clients are told: what is given, else what is bound. A controller's address may be given too; where
// it is not, it is what is bound, whatever is told of the others.
func (l Layers) advertise(b *Broker) error {
	key := "advertised.listeners"
	given, err := parseNamed(l.list(key))
	if err != nil {
		return l.wrong(key, "%v", err)
	}
	all := len(given) == 0
	if all {
		key = "listeners"
	}
	for _, x := range b.Listeners {
		told := slices.ContainsFunc(given, func(a named) bool { return a.name == x.Name })
		if all || x.Controller && !told {
			given = append(given, named{x.Name, x.Bind})
		}
	}
	for _, a := range given {
		i := slices.IndexFunc(b.Listeners, func(x Listener) bool { return x.Name == a.name })
		if i < 0 && !b.Roles.Broker { // what is said for the brokers of the same file
			continue
		}
		if i < 0 {
			return l.wrong(key, "expected names that are in listeners, and %s is not", a.name)
		}
		switch {
		case a.Host == "":
			a.Host = cmp.Or(l.Hostname, "localhost")
		case everywhere(a.Host) && !b.Listeners[i].Controller:
			return l.wrong(key, "%s cannot be connected to; expected advertised.listeners=%s://HOST:%d with a host that clients reach",
				a.Host, a.name, a.Port)
		}
		b.Listeners[i].Advertised = a.Endpoint
	}
	return nil
}

// resolveInterBroker names the listener between brokers: by its name, or by its protocol when it is called like that. A
// controller that is no broker has none, and reaches the brokers on theirs.
func (l Layers) resolveInterBroker(b *Broker) error {
	const key, byProtocol = "inter.broker.listener.name", "security.inter.broker.protocol"
	b.InterBroker = strings.ToUpper(l.string(key))
	protocol, _ := l.text(byProtocol)
	if b.InterBroker != "" && protocol != nil {
		return l.wrong(key, "expected either this or %s", byProtocol)
	}
	named := key
	if b.InterBroker == "" {
		b.InterBroker, named = l.string(byProtocol), byProtocol
	}
	if !b.Roles.Broker {
		return nil
	}
	for _, x := range b.Listeners {
		if x.Name == b.InterBroker && !x.Controller && x.Advertised.Host != "" {
			return nil
		}
	}
	return l.wrong(named, "expected the name of an advertised listener for brokers, and %s is none; set %s", b.InterBroker, key)
}

func upper(names []string) []string {
	for i := range names {
		names[i] = strings.ToUpper(names[i])
	}
	return names
}
