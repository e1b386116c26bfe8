package console_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/actors/broker"
	"troupe/configs"
)

// patience bounds every wait, far above what a slow machine needs.
const patience = 30 * time.Second

// node is a broker in this process, seen through its ports alone.
type node struct {
	t         *testing.T
	admin     string // URL
	bootstrap string
	client    *kgo.Client
}

func startNode(t *testing.T, set ...string) *node {
	t.Helper()
	loaded, err := configs.Load(configs.Options{Set: append([]string{
		"node.id=1", "listeners=PLAINTEXT://127.0.0.1:0", "log.dirs=" + t.TempDir(), "admin.address=127.0.0.1:0",
	}, set...)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	b, err := broker.Start(ctx, broker.Options{Config: loaded, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := b.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	ready := b.Ready(0)
	n := &node{t: t, admin: "http://" + field(ready, `admin=(\S+)`), bootstrap: field(ready, `PLAINTEXT://([^,\s]+)`)}
	if n.client, err = kgo.NewClient(kgo.SeedBrokers(n.bootstrap), kgo.RecordPartitioner(kgo.ManualPartitioner())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.client.Close)
	return n
}

func field(line, pattern string) string {
	return regexp.MustCompile(pattern).FindStringSubmatch(line)[1]
}

func (n *node) create(topic string, partitions int32) {
	n.t.Helper()
	if _, err := kadm.NewClient(n.client).CreateTopic(n.context(), partitions, 1, nil, topic); err != nil {
		n.t.Fatal(err)
	}
}

// createWith makes a topic of one partition with a setting.
func (n *node) createWith(topic, key, value string) {
	n.t.Helper()
	if _, err := kadm.NewClient(n.client).CreateTopic(n.context(), 1, 1, map[string]*string{key: &value}, topic); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) delete(topic string) {
	n.t.Helper()
	if _, err := kadm.NewClient(n.client).DeleteTopic(n.context(), topic); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) context() context.Context {
	ctx, cancel := context.WithTimeout(n.t.Context(), patience)
	n.t.Cleanup(cancel)
	return ctx
}

// produce sends records one by one, each acknowledged before the next.
func (n *node) produce(topic string, partition int32, values ...string) {
	n.t.Helper()
	for _, v := range values {
		r := &kgo.Record{Topic: topic, Partition: partition, Value: []byte(v)}
		if err := n.client.ProduceSync(n.context(), r).FirstErr(); err != nil {
			n.t.Fatal(err)
		}
	}
}

// ask sends a request and gives status and body.
func (n *node) ask(method, path string, headers ...string) (int, string) {
	n.t.Helper()
	req, err := http.NewRequestWithContext(n.context(), method, n.admin+path, nil)
	if err != nil {
		n.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		n.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		n.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// read asks for a JSON document.
func read[T any](n *node, path string) (v T) {
	n.t.Helper()
	status, body := n.ask("GET", path)
	if status != http.StatusOK {
		n.t.Fatalf("GET %s: %d %s", path, status, body)
	}
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		n.t.Fatalf("GET %s: %v\n%s", path, err, body)
	}
	return v
}

// eventually waits for what nothing announces.
func (n *node) eventually(what string, holds func() bool) {
	n.t.Helper()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for deadline := time.Now().Add(patience); !holds(); <-again.C {
		if time.Now().After(deadline) {
			n.t.Fatalf("it does not come about that %s", what)
		}
	}
}

// lines are those of a text that hold something.
func lines(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
}
