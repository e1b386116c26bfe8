package broker

import (
	"cmp"
	"fmt"
	"strings"

	"troupe/codec/kerr"
	"troupe/configs"
)

// refuse takes down why this broker is not registered, and tells it once. A process that is refused for another's sake is told
// where that one is, which it learns a moment later from the metadata.
func (l *lifecycle) refuse(code kerr.Code) {
	before := l.refused
	l.refused = code
	other := l.other()
	switch {
	case code == kerr.NotController || code == before && (l.told || code != kerr.DuplicateBrokerRegistration):
		return
	case code != kerr.DuplicateBrokerRegistration:
		l.log.Warn("registration refused, trying again", "code", code.Name(), "err", code.Error())
		return
	}
	if l.told = other != ""; !l.told {
		return
	}
	var here []string
	for _, at := range l.request.Listeners {
		here = append(here, configs.Endpoint{Host: at.Host, Port: at.Port}.String())
	}
	l.log.Warn("registration refused, trying again: another process with this node.id is in the cluster", "node", l.state.id, "here", strings.Join(here, ","), "other", other, "code", code.Name())
}

// other is where the broker of this number listens that is registered; empty while that is not known.
func (l *lifecycle) other() string {
	var at []string
	if b, ok := l.source.Image().Broker(l.state.id); ok {
		for _, e := range b.Endpoints {
			at = append(at, configs.Endpoint{Host: e.Host, Port: e.Port}.String())
		}
	}
	return strings.Join(at, ",")
}

// refusal ends the text of a start that failed.
func (l *lifecycle) refusal() string {
	lacks := l.quorum.Lacks()
	switch {
	case lacks != "":
		return ": no leader of the metadata quorum is reached: " + lacks
	case l.refused == kerr.DuplicateBrokerRegistration:
		return fmt.Sprintf(": another process with node.id %d is in the cluster, at %s: one node.id is one node's", l.state.id, cmp.Or(l.other(), "an address that is not known yet"))
	case l.refused != kerr.None && l.refused != kerr.NotController:
		return fmt.Sprintf(": the last answer was %s, %s", l.refused.Name(), l.refused.Error())
	}
	return ""
}
