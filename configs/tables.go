package configs

import (
	"maps"
	"slices"
	"sync"
)

// brokerTables are the keys of a broker, by area; the names head the sections of docs/configs.md.
var brokerTables = []struct {
	title string
	keys  []Key
}{
	{"Node and metadata log", serverKeys},
	{"Connections", networkKeys},
	{"Logs", logKeys},
	{"Producers and transactions", transactionKeys},
	{"Metadata quorum", quorumKeys},
	{"Gossip", gossipKeys},
	{"Replication", replicationKeys},
	{"Troupe's own", troupeKeys},
	{"Groups", groupKeys},
	{"Share groups", shareKeys},
	{"Metrics and quotas", metricKeys},
	{"Security", securityKeys},
	{"Remote storage", tieringKeys},
	{"Older Kafka and its plugins", formerKeys},
}

// index finds keys by name. It is built on first use: client commands need none.
type index map[string]Key

// indexed makes one index of several tables; that no name stands in two is a test's.
func indexed(tables ...[]Key) index {
	all := index{}
	for _, table := range tables {
		for _, k := range table {
			all[k.Name] = k
		}
	}
	return all
}

func (i index) names() []string { return slices.Sorted(maps.Keys(i)) }

// brokerKeys and topicIndex are for look-ups; the tables themselves keep the order of docs/configs.md.
var brokerKeys = sync.OnceValue(func() index {
	var tables [][]Key
	for _, t := range brokerTables {
		tables = append(tables, t.keys)
	}
	return indexed(tables...)
})

var topicIndex = sync.OnceValue(func() index { return indexed(topicKeys) })
