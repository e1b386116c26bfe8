package configs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// SettingError is a setting that makes no sense with the others.
type SettingError struct {
	Key   string
	Value string
	Want  string
}

func (e *SettingError) Error() string {
	if e.Value == "" {
		return fmt.Sprintf("%s: %s", e.Key, e.Want)
	}
	return fmt.Sprintf("%s=%s: %s", e.Key, e.Value, e.Want)
}

// wrong names the value as DescribeConfigs shows it, whichever layer it comes from.
func (l Layers) wrong(key, format string, args ...any) error {
	value := ""
	if v, _, err := l.value(key); err == nil && v != nil {
		if value = shown(v); brokerKeys()[key].Sensitive() {
			value = "[hidden]"
		}
	}
	return &SettingError{key, value, fmt.Sprintf(format, args...)}
}

// Resolve parses the configuration of the broker as the layers give it and checks its parts against each other. The
// error is a *ValueError or a *SettingError.
func (l Layers) Resolve() (Broker, error) {
	var b Broker
	if err := decode(&b, l.value); err != nil {
		return Broker{}, err
	}
	// In the order of who needs whom: listeners are judged by roles, sessions by nothing else.
	steps := []func(*Broker) error{l.resolveNode, l.resolveDirs, l.resolveQuorum, l.resolveListeners, l.resolveFirstVoters, l.resolveGossip, l.resolveConnections}
	for _, step := range steps {
		if err := step(&b); err != nil {
			return Broker{}, err
		}
	}
	return b, l.checkTopicDefaults()
}

// resolveNode checks who this node is. Kafka has no default for node.id, and there is none here: two nodes with a
// number nobody chose would be one voter. Without roles it has both, so that a file of few lines is a node.
func (l Layers) resolveNode(b *Broker) error {
	if v, _, _ := l.value("node.id"); v == nil {
		return l.wrong("node.id", "not set; expected the number of this node, at least 0; every node of a cluster has its own")
	}
	// The name before KRaft (KIP-500); files that still have both must agree.
	if old, _ := l.text("broker.id"); old != nil && *old != "-1" && *old != strconv.Itoa(int(b.NodeID)) {
		return l.wrong("broker.id", "expected the same number as node.id, which is %d", b.NodeID)
	}
	roles := l.list("process.roles")
	b.Roles = Roles{
		Broker:     len(roles) == 0 || slices.Contains(roles, "broker"),
		Controller: len(roles) == 0 || slices.Contains(roles, "controller"),
	}
	return nil
}

// resolveDirs: log.dirs over log.dir, and the metadata log in the first directory unless it has its own.
func (l Layers) resolveDirs(b *Broker) error {
	b.LogDirs = l.dirs()
	if len(b.LogDirs) == 0 || slices.Contains(b.LogDirs, "") {
		return l.wrong("log.dirs", "expected directories between commas, none of them empty")
	}
	b.MetadataDir = b.LogDirs[0]
	if dir, _ := l.text("metadata.log.dir"); dir != nil && *dir != "" {
		b.MetadataDir = *dir
	}
	return l.resolveCordon(b)
}

// resolveConnections checks what belongs to sockets and sessions. The host of an override may be an IPv6 address with or
// without brackets, so its limit stands after the last colon.
func (l Layers) resolveConnections(b *Broker) error {
	const key = "max.connections.per.ip.overrides"
	b.Socket.PerAddress = map[string]int32{}
	for _, pair := range splitList(l.string(key)) {
		colon := strings.LastIndexByte(pair, ':')
		n, err := strconv.ParseInt(pair[colon+1:], 10, 32)
		if colon <= 0 || err != nil || n < 0 {
			return l.wrong(key, "%q: expected HOST:NUMBER between commas", pair)
		}
		b.Socket.PerAddress[strings.Trim(pair[:colon], "[]")] = int32(n)
	}
	for _, key := range []string{"socket.send.buffer.bytes", "socket.receive.buffer.bytes"} {
		if v, _, _ := l.value(key); v.(int64) < -1 || v == int64(0) {
			return l.wrong(key, "expected a number of bytes, or -1 for the system's own")
		}
	}
	if b.Membership.Heartbeat > b.Membership.SessionTimeout {
		return l.wrong(heartbeatKey, "expected no more than %s, which is %d", sessionKey,
			b.Membership.SessionTimeout.Milliseconds())
	}
	return nil
}

// checkTopicDefaults finds defaults that no topic could live with. Kafka refuses a retention of nothing for brokers, and
// takes it for a topic.
func (l Layers) checkTopicDefaults() error {
	t, err := l.Topic(nil)
	if err != nil {
		return err
	}
	if t.MinCompactionLag > t.MaxCompactionLag {
		return l.wrong("log.cleaner.min.compaction.lag.ms", "expected no more than log.cleaner.max.compaction.lag.ms, which is %d",
			t.MaxCompactionLag.Milliseconds())
	}
	if t.Retention == 0 {
		for _, key := range []string{"log.retention.ms", "log.retention.minutes", "log.retention.hours"} {
			if v, _, _ := l.value(key); v != nil {
				return l.wrong(key, "expected at least 1, or -1 to keep records for ever")
			}
		}
	}
	return nil
}

// list and string are for keys that were parsed by decode before, so their errors are known to be nil.
func (l Layers) list(key string) []string {
	v, _, _ := l.value(key)
	list, _ := v.([]string)
	return list
}

func (l Layers) string(key string) string {
	v, _, _ := l.value(key)
	s, _ := v.(string)
	return s
}
