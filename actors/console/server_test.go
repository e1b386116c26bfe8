package console_test

import (
	"io/fs"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestHealthTellsThatTheBrokerLivesAndServes(t *testing.T) {
	n := startNode(t)
	for _, path := range []string{"/livez", "/readyz"} {
		if status, body := n.ask("GET", path); status != 200 || body != "ok\n" {
			t.Errorf("%s: %d %q", path, status, body)
		}
	}
	if status, body := n.ask("GET", "/debug/pprof/goroutine?debug=1"); status != 200 || !strings.Contains(body, "goroutine profile") {
		t.Errorf("pprof: %d %.100s", status, body)
	}
	if status, _ := n.ask("GET", "/nothing"); status != 404 {
		t.Errorf("an unknown path: %d", status)
	}
}

func TestPagesOfAnotherOriginMayNotChangeOrStartAnything(t *testing.T) {
	n := startNode(t, "test.panics=true")
	for _, c := range []struct {
		title, method, path string
		headers             []string
		want                int
	}{
		{"a form of another origin", "POST", "/trace?sample=1/1", []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
		{"the same by an old browser", "POST", "/trace?sample=1/1", []string{"Origin", "https://evil.example"}, http.StatusForbidden},
		{"a panic by another origin", "POST", "/actors/panic?name=controller", []string{"Origin", "https://evil.example"}, http.StatusForbidden},
		{"an image that is a stream of traces", "GET", "/trace?sample=1/1&limit=1", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Dest", "image"}, http.StatusForbidden},
		{"a frame", "GET", "/", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Dest", "iframe", "Sec-Fetch-Mode", "navigate"}, http.StatusForbidden},
		{"a link to the page", "GET", "/", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Dest", "document", "Sec-Fetch-Mode", "navigate"}, 200},
		{"the page itself", "POST", "/trace", []string{"Origin", n.admin, "Sec-Fetch-Site", "same-origin"}, 200},
		{"a command line", "POST", "/trace", nil, 200},
	} {
		if status, body := n.ask(c.method, c.path, c.headers...); status != c.want {
			t.Errorf("%s: %d %.80s, want %d", c.title, status, body, c.want)
		}
	}
}

func TestThePageIsWholeAndAsksNobodyElse(t *testing.T) {
	n := startNode(t)
	status, page := n.ask("GET", "/")
	if status != 200 || !strings.Contains(page, "<title>Troupe</title>") {
		t.Fatalf("%d %.100s", status, page)
	}
	named := regexp.MustCompile(`(?:src|href)="([^"#?]+\.(?:js|css|svg))"|from '\./([^']+)'`)
	elsewhere := regexp.MustCompile(`(?i)(https?:)?//[a-z0-9.-]+\.[a-z]{2,}|style="`)
	err := fs.WalkDir(os.DirFS("page"), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		status, text := n.ask("GET", "/"+path)
		if status != 200 && path != "index.html" {
			t.Errorf("%s: %d", path, status)
		}
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat("page/" + m[1] + m[2]); err != nil {
				t.Errorf("%s names %s%s, which is not there", path, m[1], m[2])
			}
		}
		if found := elsewhere.FindString(strings.ReplaceAll(text, "http://www.w3.org/", "")); found != "" {
			t.Errorf("%s holds %q", path, found)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestThePageGetsAnOverviewAndTheTopics(t *testing.T) {
	n := startNode(t)
	n.create("orders", 2)
	n.create("other", 1)
	n.produce("orders", 1, "a", "b")

	type overview struct {
		Node, State, Topics, Partitions int
		Waiting                         string
		Traffic                         struct{ MessagesIn int }
		Requests                        []struct{ Name string }
		Kinds                           []struct{ Kind string }
		Directories                     []struct{ Size, Writes int }
	}
	o := read[overview](n, "/overview")
	if o.Node != 1 || o.State != 3 || o.Waiting != "" || o.Topics != 2 || o.Partitions != 3 || o.Traffic.MessagesIn != 2 {
		t.Errorf("overview: %+v", o)
	}
	if len(o.Requests) == 0 || len(o.Kinds) == 0 || len(o.Directories) != 1 || o.Directories[0].Size == 0 || o.Directories[0].Writes == 0 {
		t.Errorf("overview: %+v", o)
	}

	type topics struct {
		Total  int
		Topics []struct {
			Name       string
			Count      int
			Partitions []struct{ Partition, Leader, LogEnd, HighWatermark, Segments int }
		}
	}
	list := read[topics](n, "/topics")
	if list.Total != 2 || list.Topics[0].Name != "orders" || list.Topics[0].Count != 2 || list.Topics[0].Partitions != nil {
		t.Errorf("topics, the largest first: %+v", list)
	}
	if one := read[topics](n, "/topics?match=the"); one.Total != 1 || one.Topics[0].Name != "other" {
		t.Errorf("topics with \"the\" in their names: %+v", one)
	}
	if cut := read[topics](n, "/topics?limit=1"); cut.Total != 2 || len(cut.Topics) != 1 {
		t.Errorf("one topic: %+v", cut)
	}
	whole := read[topics](n, "/topics?name=orders").Topics[0].Partitions
	if len(whole) != 2 || whole[1].LogEnd != 2 || whole[1].HighWatermark != 2 || whole[1].Leader != 1 || whole[0].LogEnd != 0 || whole[1].Segments != 1 {
		t.Errorf("partitions of orders: %+v", whole)
	}
}
