package configs

import (
	"bytes"
	"encoding/base64"
	"reflect"
	"testing"
)

func TestGossipIsThereWhereItIsConfigured(t *testing.T) {
	key := bytes.Repeat([]byte{7}, 32)
	text := base64.StdEncoding.EncodeToString(key)
	for _, c := range []struct {
		title string
		set   []string
		want  Gossip
	}{
		{"nothing is said of it", nil, Gossip{}},
		{"a key alone begins nothing", []string{"cluster.gossip.key=" + text}, Gossip{Key: key}},
		{"on this machine it needs no key", []string{"cluster.gossip.address=localhost:1"}, Gossip{Address: Endpoint{"localhost", 1}}},
		{
			"with a key it may leave the machine", []string{"cluster.gossip.key=" + text, "cluster.gossip.address=:1", "cluster.gossip.seeds=a:1,[::1]:2"},
			Gossip{Address: Endpoint{"", 1}, Key: key, Seeds: []Endpoint{{"a", 1}, {"::1", 2}}},
		},
	} {
		got := load(t, Options{Set: append([]string{"node.id=1"}, c.set...)}).Broker.Gossip
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.title, got, c.want)
		}
	}
}
