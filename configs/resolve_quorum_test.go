package configs

import (
	"slices"
	"testing"
)

func TestRolesAndQuorumAreResolvedTogether(t *testing.T) {
	for _, c := range []struct {
		title string
		set   map[string]string
		roles Roles
		want  Quorum // its voters, servers, listener and count
	}{
		{
			"a node that says nothing is a quorum by itself",
			map[string]string{"listeners": "PLAINTEXT://h:1"},
			Roles{true, true}, Quorum{InitialVoters: 1},
		},
		{
			"several voters that are named",
			map[string]string{
				"process.roles": "broker,controller", "controller.quorum.voters": "1@a:2,2@b:2,3@c:2",
				"listeners": "PLAINTEXT://h:1,CONTROLLER://h:2", "controller.listener.names": "CONTROLLER",
			},
			Roles{true, true},
			Quorum{Voters: []Voter{{1, Endpoint{"a", 2}}, {2, Endpoint{"b", 2}}, {3, Endpoint{"c", 2}}}, Listener: "CONTROLLER"},
		},
		{
			"the one server that is named is this node",
			map[string]string{
				"controller.quorum.bootstrap.servers": "localhost:2", "listeners": "PLAINTEXT://h:1,C://:2", "controller.listener.names": "C",
			},
			Roles{true, true}, Quorum{Bootstrap: []Endpoint{{"localhost", 2}}, Listener: "C", InitialVoters: 1},
		},
		{
			"the one server that is named is another node: this one joins it",
			map[string]string{
				"controller.quorum.bootstrap.servers": "elsewhere:2", "listeners": "PLAINTEXT://h:1,C://:2", "controller.listener.names": "C",
			},
			Roles{true, true}, Quorum{Bootstrap: []Endpoint{{"elsewhere", 2}}, Listener: "C"},
		},
		{
			"the one server that is named is another node of this machine, at another of its addresses",
			map[string]string{
				"controller.quorum.bootstrap.servers": "127.0.0.1:2", "listeners": "PLAINTEXT://h:1,C://127.0.0.2:2", "controller.listener.names": "C",
			},
			Roles{true, true}, Quorum{Bootstrap: []Endpoint{{"127.0.0.1", 2}}, Listener: "C"},
		},
		{
			"the one server that is named is this node, by its name",
			map[string]string{
				"controller.quorum.bootstrap.servers": "localhost:2", "listeners": "PLAINTEXT://h:1,C://127.0.0.1:2", "controller.listener.names": "C",
			},
			Roles{true, true}, Quorum{Bootstrap: []Endpoint{{"localhost", 2}}, Listener: "C", InitialVoters: 1},
		},
		{
			"three that make a new cluster when they have found each other",
			map[string]string{
				"controller.quorum.bootstrap.servers": "a:2,b:2,c:2", "controller.quorum.initial.voters": "3",
				"listeners": "PLAINTEXT://h:1,C://h:2", "controller.listener.names": "C",
			},
			Roles{true, true}, Quorum{Bootstrap: []Endpoint{{"a", 2}, {"b", 2}, {"c", 2}}, Listener: "C", InitialVoters: 3},
		},
		{
			"a broker alone reaches controllers on a listener that it has not",
			map[string]string{
				"process.roles": "broker", "controller.quorum.voters": "7@a:2", "listeners": "PLAINTEXT://h:1", "controller.listener.names": "c",
				"controller.quorum.initial.voters": "1",
			},
			Roles{Broker: true}, Quorum{Voters: []Voter{{7, Endpoint{"a", 2}}}, Listener: "C"},
		},
		{
			"a controller alone has no listener for clients, and none between brokers",
			map[string]string{
				"process.roles": "controller", "controller.quorum.bootstrap.servers": "a:2,h:2", "controller.quorum.initial.voters": "2",
				"listeners": "C://h:2", "controller.listener.names": "C",
			},
			Roles{Controller: true}, Quorum{Bootstrap: []Endpoint{{"a", 2}, {"h", 2}}, Listener: "C", InitialVoters: 2},
		},
	} {
		t.Run(c.title, func(t *testing.T) {
			c.set["node.id"] = "1"
			b, err := Layers{Static: c.set, Hostname: "here.example"}.Resolve()
			if err != nil {
				t.Fatal(err)
			}
			q := b.Quorum
			if b.Roles != c.roles || !slices.Equal(q.Voters, c.want.Voters) || !slices.Equal(q.Bootstrap, c.want.Bootstrap) ||
				q.Listener != c.want.Listener || q.InitialVoters != c.want.InitialVoters {
				t.Errorf("resolved %+v and %+v", b.Roles, q)
			}
		})
	}
}

func TestAControllerIsReachedWhereItListensUnlessToldOtherwise(t *testing.T) {
	for _, c := range []struct {
		title, roles, advertised string
		want                     Endpoint
	}{
		{"nothing is told", "controller", "", Endpoint{"h", 2}},
		{"it is told", "controller", "C://there:3", Endpoint{"there", 3}},
		{"what is told is for brokers", "controller", "PLAINTEXT://there:1", Endpoint{"h", 2}},
		{"what is told is for the clients of the same node", "broker,controller", "PLAINTEXT://there:1", Endpoint{"h", 2}},
	} {
		t.Run(c.title, func(t *testing.T) {
			set := map[string]string{
				"node.id": "1", "process.roles": c.roles, "controller.quorum.voters": "1@h:2", "controller.listener.names": "C",
				"listeners": "C://h:2", "advertised.listeners": c.advertised,
			}
			if c.roles != "controller" {
				set["listeners"] = "PLAINTEXT://h:1,C://h:2"
			}
			b, err := Layers{Static: set, Hostname: "here.example"}.Resolve()
			if err != nil {
				t.Fatal(err)
			}
			if last := b.Listeners[len(b.Listeners)-1]; last.Advertised != c.want || !last.Controller {
				t.Errorf("resolved %+v, want %v", last, c.want)
			}
		})
	}
}
