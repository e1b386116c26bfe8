package api

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/private"
)

// The keys are those of facts/apis.csv with "controller" alone, as far as there are handlers, and Troupe's own.
func TestVersionsShowWhatIsAnsweredToWhoAsks(t *testing.T) {
	betweenNodes := []int16{56, 62, 63, 67, 70, 73}
	own := []int16{private.HelloKey, private.RaftKey, private.ForwardKey}
	for name, c := range map[string]struct {
		client          Client
		present, absent []int16
	}{
		"a client":                              {Client{}, []int16{0, 1, 3, 18, 19, 55, 60}, betweenNodes},
		"a client where brokers come in too":    {Client{Nodes: true}, []int16{0, 1, 3, 18, 19, 55, 60}, betweenNodes},
		"a tool on a controller's listener":     {Client{Controller: true, Nodes: true}, []int16{1, 18, 19, 20, 32, 37, 43, 44, 45, 46, 55, 57, 60, 64}, append([]int16{0, 2, 3, 10, 22, 42, 68}, betweenNodes...)},
		"another node":                          {Client{Controller: true, Nodes: true, Peer: &private.Identity{}}, append([]int16{1, 18, 19, 55}, betweenNodes...), nil},
		"another node on the brokers' listener": {Client{Nodes: true, Peer: &private.Identity{}}, append([]int16{1, 18}, betweenNodes...), nil},
	} {
		w := newWorld(t)
		w.client = &c.client
		var shown []int16
		for _, k := range ask[*kmsg.ApiVersionsResponse](w, kmsg.NewPtrApiVersionsRequest(), 0).ApiKeys {
			shown = append(shown, k.ApiKey)
		}
		for _, key := range c.present {
			if !slices.Contains(shown, key) {
				t.Errorf("%s: key %d is not shown", name, key)
			}
		}
		for _, key := range append(slices.Clone(own), c.absent...) {
			if slices.Contains(shown, key) {
				t.Errorf("%s: key %d is shown", name, key)
			}
		}
		for _, h := range Table() {
			_, answered := Lookup(h.Key, w.client)
			if slices.Contains(shown, h.Key) != answered && !slices.Contains(own, h.Key) {
				t.Errorf("%s: %s is shown %v, answered %v", name, h.Name, !answered, answered)
			}
		}
	}
}

func TestHandlersAreFoundByTheirKeysAndNoneByOthers(t *testing.T) {
	node := &Client{Controller: true, Nodes: true, Peer: &private.Identity{}}
	for key, name := range map[int16]string{0: "Produce", 75: "DescribeTopicPartitions", private.HelloKey: "Hello", private.RaftKey: "Raft", private.ForwardKey: "Forward"} {
		if h, ok := Lookup(key, node); !ok || h.Name != name || h.Key != key {
			t.Errorf("key %d is %+v, want %s", key, h, name)
		}
	}
	for _, key := range []int16{-1, -32768, 4, 52, 95, 119, 120, 127, 128, 20_000, 31_999, private.ForwardKey + 1, 32_100, 32_767} {
		if h, ok := Lookup(key, node); h != nil || ok {
			t.Errorf("key %d is %+v", key, h)
		}
	}
}
