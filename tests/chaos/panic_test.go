//go:build unix

package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/tests/node"
)

// actor is what the admin port tells of one.
type actor struct {
	Name     string  `json:"name"`
	Kind     string  `json:"kind"`
	Restarts int     `json:"restarts"`
	Children []actor `json:"children"`
}

// tree reads /actors as a flat list.
func tree(t *testing.T, admin string) []actor {
	t.Helper()
	resp, err := http.Get("http://" + admin + "/actors")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var told struct {
		Actors []actor `json:"actors"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&told); err != nil {
		t.Fatal(err)
	}
	var flat []actor
	for queue := told.Actors; len(queue) > 0; queue = queue[1:] {
		flat = append(flat, queue[0])
		queue = append(queue, queue[0].Children...)
	}
	return flat
}

// restarts finds how often an actor was restarted, and whether it is there.
func restarts(t *testing.T, admin, name string) int {
	for _, a := range tree(t, admin) {
		if a.Name == name {
			return a.Restarts
		}
	}
	return 0
}

// stir gives every kind of actor something to do: topics come, change and go, offsets are looked up, records deleted.
func stir(t *testing.T, bootstrap string) {
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.RetryTimeout(10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	admin := kadm.NewClient(client)
	topic, each, small := fmt.Sprintf("stir-%d", time.Now().UnixNano()), "1", "1048576"
	// What fails here meets the panic itself; only the load must not notice.
	admin.CreateTopic(ctx, 16, 1, map[string]*string{"flush.messages": &each, "segment.bytes": &small}, topic)
	for i := range 16 {
		client.ProduceSync(ctx, &kgo.Record{Topic: topic, Key: fmt.Append(nil, i), Value: make([]byte, 1024)})
	}
	admin.ListOffsetsAfterMilli(ctx, 1, topic)
	admin.ListMaxTimestampOffsets(ctx, topic)
	admin.DescribeAllLogDirs(ctx, nil)
	admin.DeleteRecords(ctx, kadm.Offsets{topic: {0: kadm.Offset{Topic: topic, At: 1}}})
	admin.CreatePartitions(ctx, 1, topic)
	admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Name: "retention.ms", Value: &small}}, topic)
	admin.DeleteTopic(ctx, topic)
}

func TestAPanicOfAnyActorIsNotNoticed(t *testing.T) {
	broker := node.Start(t, node.Options{Set: []string{"test.panics=true"}})
	stir(t, broker.Bootstrap)
	Start(t, broker.Bootstrap, 1, nil).Stop() // a topic that stays: what stir made is gone
	var kinds []string
	for _, a := range tree(t, broker.Admin) {
		if a.Kind != "" && !slices.Contains(kinds, a.Kind) {
			kinds = append(kinds, a.Kind)
		}
	}
	if !slices.Contains(kinds, "replica") || !slices.Contains(kinds, "controller") {
		t.Fatalf("kinds of actors are %v", kinds)
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			broker := node.Start(t, node.Options{Set: []string{"test.panics=true"}})
			load := Start(t, broker.Bootstrap, 2, map[string]string{"flush.messages": "100"})
			load.Await(500)
			var named []string
			for _, a := range tree(t, broker.Admin) {
				if a.Kind == kind {
					panicNext(t, broker.Admin, a.Name)
					named = append(named, a.Name)
				}
			}
			node.Eventually(t, fmt.Sprintf("one of %v was restarted", named), func() bool {
				stir(t, broker.Bootstrap)
				return slices.ContainsFunc(named, func(name string) bool { return restarts(t, broker.Admin, name) > 0 })
			})
			load.Await(500)
			load.Stop()
			load.Verify()
			if !broker.Running() {
				t.Error("the broker ended")
			}
		})
	}
}

// panicNext makes an actor panic on its next message.
func panicNext(t *testing.T, admin, name string) {
	t.Helper()
	resp, err := http.PostForm("http://"+admin+"/actors/panic", url.Values{"name": {name}})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusAccepted && resp.StatusCode != http.StatusNotFound {
		t.Fatalf("panic of %s: %s", name, resp.Status)
	}
}
