package configs

import (
	"reflect"
	"slices"
	"testing"
)

// everyTable is all keys, with the table that each is in.
func everyTable() map[string][]Key {
	all := map[string][]Key{
		"topics": topicKeys, "group resources": groupResourceKeys, "metrics resources": metricsResourceKeys, "quota entities": quotaKeys,
	}
	for _, t := range brokerTables {
		all[t.title] = t.keys
	}
	return all
}

func TestEveryKeyIsCompleteAndItsDefaultIsValid(t *testing.T) {
	for title, keys := range everyTable() {
		for _, k := range keys {
			if k.Doc == "" || k.Type == 0 {
				t.Errorf("%s: %s has no documentation or no type", title, k.Name)
			}
			if (k.Effect == Acts) != (k.Reason == "") {
				t.Errorf("%s: %s says why it has no effect exactly when it has none", title, k.Name)
			}
			if k.Null && k.Default != "" {
				t.Errorf("%s: %s is null by default and %q", title, k.Name, k.Default)
			}
			if _, err := k.parse(k.Default); err != nil && !k.Null {
				t.Errorf("%s: %v", title, err)
			}
		}
	}
}

func TestNoBrokerKeyStandsInTwoTables(t *testing.T) {
	seen := map[string]string{}
	for _, table := range brokerTables {
		for _, k := range table.keys {
			if before, twice := seen[k.Name]; twice {
				t.Errorf("%s is in %q and in %q", k.Name, before, table.title)
			}
			seen[k.Name] = table.title
		}
	}
}

// computed are the acting keys that are not decoded into a field of their own: listeners, paths and quorum are made of
// several keys.
var computed = []string{
	"broker.id", "process.roles", "listeners", "advertised.listeners", "listener.security.protocol.map",
	"controller.listener.names", "inter.broker.listener.name", "security.inter.broker.protocol", "log.dir", "log.dirs",
	"metadata.log.dir", "controller.quorum.voters", "controller.quorum.bootstrap.servers", "max.connections.per.ip.overrides",
	"cluster.gossip.address", "cluster.gossip.seeds", "cluster.gossip.key",
}

func TestEveryActingBrokerKeyReachesTheBroker(t *testing.T) {
	reached := append(tagged(reflect.TypeFor[Broker]()), computed...)
	for _, kin := range topicSynonyms {
		for _, s := range kin {
			reached = append(reached, s.name)
		}
	}
	for name, k := range brokerKeys() {
		if k.Effect == Acts && !slices.Contains(reached, name) {
			t.Errorf("%s acts, and no field holds it", name)
		}
	}
	for _, name := range reached {
		if _, known := brokerKeys()[name]; !known {
			t.Errorf("%s is read and in no table", name)
		}
	}
}

func TestEveryActingTopicKeyReachesTheTopic(t *testing.T) {
	reached := append(tagged(reflect.TypeFor[Topic]()), "internal.segment.bytes")
	for name, k := range topicIndex() {
		if k.Effect == Acts && !slices.Contains(reached, name) {
			t.Errorf("%s acts, and no field holds it", name)
		}
		kin := topicSynonyms[name]
		if kin == nil {
			continue
		}
		behind := brokerKeys()[kin[0].name]
		if scaledDefault, _, err := (Layers{}).topicValue(name, nil); err != nil || shown(scaledDefault) != k.Default {
			t.Errorf("%s is %s by default, and the broker's default is %v (%v)", name, k.Default, scaledDefault, err)
		}
		if behind.Type != k.Type {
			t.Errorf("%s and %s are of different types", name, behind.Name)
		}
	}
}

func tagged(s reflect.Type) []string {
	var names []string
	for i := range s.NumField() {
		if name, ok := s.Field(i).Tag.Lookup("key"); ok {
			names = append(names, name)
		} else if s.Field(i).Type.Kind() == reflect.Struct {
			names = append(names, tagged(s.Field(i).Type)...)
		}
	}
	return names
}
