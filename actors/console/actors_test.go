package console_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// branch is one line of GET /actors.
type branch struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	Depth     int    `json:"depth"`
	Handled   uint64 `json:"handled"`
	Restarts  int    `json:"restarts"`
	LastError string `json:"lastError"`
	Below     struct {
		Actors   int    `json:"actors"`
		Handled  uint64 `json:"handled"`
		Restarts int    `json:"restarts"`
	} `json:"below"`
	Children []branch `json:"children"`
}

type actors struct {
	Total  int      `json:"total"`
	Shown  int      `json:"shown"`
	Actors []branch `json:"actors"`
}

// all lists the branches that are actors, wherever they stand.
func all(bs []branch) (list []branch) {
	for _, b := range bs {
		if b.Kind != "" {
			list = append(list, b)
		}
		list = append(list, all(b.Children)...)
	}
	return list
}

func names(bs []branch) (list []string) {
	for _, b := range bs {
		list = append(list, b.Name)
	}
	return list
}

// find gives the branch of a name.
func find(bs []branch, name string) *branch {
	for i := range bs {
		if bs[i].Name == name {
			return &bs[i]
		}
		if b := find(bs[i].Children, name); b != nil {
			return b
		}
	}
	return nil
}

func TestActorsStandInATreeOfTheirNames(t *testing.T) {
	n := startNode(t)
	n.create("orders", 3)
	a := read[actors](n, "/actors")
	list := all(a.Actors)
	if len(list) != a.Total || a.Shown != a.Total {
		t.Errorf("%d actors in the tree, %d in all, %d shown", len(list), a.Total, a.Shown)
	}
	top := names(a.Actors)
	for _, want := range []string{"controller", "disks", "listeners", "metadata", "replicas"} {
		if !slices.Contains(top, want) {
			t.Errorf("%s is not at the top: %v", want, top)
		}
	}
	replicas := find(a.Actors, "replicas")
	var handled uint64
	below := all(replicas.Children)
	for _, b := range below {
		handled += b.Handled
	}
	if replicas.Kind != "" || replicas.Below.Actors != len(below) || replicas.Below.Handled != handled {
		t.Errorf("below replicas are %d actors that handled %d; it says %+v", len(below), handled, replicas.Below)
	}
	leaf := slices.IndexFunc(list, func(b branch) bool { return strings.HasSuffix(b.Name, "/orders-1") })
	if leaf < 0 || list[leaf].Kind != "replica" {
		t.Errorf("there is no replica of partition 1 in %v", names(list))
	}
}

func TestActorsAreFilteredByKindAndPlaceAndRankedByWhatWaits(t *testing.T) {
	n := startNode(t)
	n.create("orders", 3)
	for _, c := range []struct {
		query string
		holds func(a actors, list []branch) bool
	}{
		{"?kind=replica", func(a actors, list []branch) bool {
			return a.Shown == 3 && len(list) == 3 && a.Total > 3 && list[0].Kind == "replica"
		}},
		{"?under=listeners", func(_ actors, list []branch) bool { return len(list) == 1 && list[0].Name == "listeners/PLAINTEXT" }},
		{"?under=listeners/", func(_ actors, list []branch) bool { return len(list) == 1 }},
		{"?under=listen", func(a actors, _ []branch) bool { return a.Shown == 0 && len(a.Actors) == 0 }},
		{"?kind=replica&under=controller", func(a actors, _ []branch) bool { return a.Shown == 0 }},
		{"?levels=1", func(a actors, list []branch) bool {
			r := find(a.Actors, "replicas")
			return r.Children == nil && r.Below.Actors > 3 && len(list) < a.Total
		}},
		{"?top=2", func(a actors, list []branch) bool {
			return len(a.Actors) == 2 && a.Shown == a.Total && (list[0].Depth > list[1].Depth || list[0].Handled >= list[1].Handled)
		}},
		{"?top=2&kind=shard", func(a actors, list []branch) bool { return len(list) == 2 && list[1].Kind == "shard" }},
		{"?top=1000", func(a actors, list []branch) bool { return len(list) == a.Total }},
	} {
		a := read[actors](n, "/actors"+c.query)
		if !c.holds(a, all(a.Actors)) {
			t.Errorf("%s: total %d, shown %d, %v", c.query, a.Total, a.Shown, names(all(a.Actors)))
		}
	}
	for _, bad := range []string{"?top=0", "?top=-1", "?top=x", "?levels=1.5"} {
		if status, body := n.ask("GET", "/actors"+bad); status != http.StatusBadRequest || !strings.Contains(body, "whole number") {
			t.Errorf("%s: %d %s", bad, status, body)
		}
	}
}

func TestActorsThatAreToldToPanicComeBackAndTheBrokerServes(t *testing.T) {
	n := startNode(t, "test.panics=true")
	n.create("orders", 1)
	n.produce("orders", 0, "before")
	tree := read[actors](n, "/actors")
	replica := all(read[actors](n, "/actors?kind=replica").Actors)[0].Name
	lane := all(read[actors](n, "/actors?kind=disk-append").Actors)[0].Name
	for _, name := range []string{replica, lane, "controller", "metadata", "listeners/PLAINTEXT"} {
		if find(tree.Actors, name) == nil {
			t.Fatalf("there is no %s", name)
		}
		if status, body := n.ask("POST", "/actors/panic?name="+name); status != http.StatusAccepted {
			t.Fatalf("%s: %d %s", name, status, body)
		}
		n.eventually(name+" is restarted", func() bool {
			b := find(read[actors](n, "/actors?under="+name).Actors, name)
			return b != nil && b.Restarts == 1 && strings.Contains(b.LastError, "fault test")
		})
		n.produce("orders", 0, "after "+name)
	}
	if got := n.metrics()[`troupe_actor_restarts_total{kind="replica"}`]; got != 1 {
		t.Errorf("%v restarts of replicas are counted, want 1", got)
	}
	if status, body := n.ask("POST", "/actors/panic?name=nobody"); status != http.StatusNotFound || !strings.Contains(body, `"nobody"`) {
		t.Errorf("an actor that is not there: %d %s", status, body)
	}
	if status, _ := n.ask("GET", "/actors/panic?name=controller"); status != http.StatusMethodNotAllowed && status != http.StatusNotFound {
		t.Errorf("a GET makes an actor panic: %d", status)
	}
}

func TestWithoutTestPanicsNoActorIsMadeToPanic(t *testing.T) {
	n := startNode(t)
	status, body := n.ask("POST", "/actors/panic?name=controller")
	if status != http.StatusForbidden || !strings.Contains(body, "test.panics") {
		t.Errorf("%d %s", status, body)
	}
	if b := find(read[actors](n, "/actors").Actors, "controller"); b.Restarts != 0 {
		t.Errorf("the controller was restarted %d times", b.Restarts)
	}
}
