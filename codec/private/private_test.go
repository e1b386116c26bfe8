package private_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"troupe/codec/frame"
	"troupe/codec/kerr"
	"troupe/codec/private"
	"troupe/internal/model"
)

// message is what requests and responses have in common.
type message interface {
	AppendTo([]byte) []byte
	ReadFrom([]byte) error
	IsFlexible() bool
}

var (
	directory   = model.UUID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	incarnation = model.UUID{17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32}
)

// golden are the messages whose bytes stand in testdata, written by hand from docs/formats/private-requests.md.
func golden() map[string]message {
	return map[string]message{
		"hello_request": &private.HelloRequest{Node: private.Identity{
			ClusterID: "c1", NodeID: 2, Directory: directory, Incarnation: incarnation, MinVersion: 1, MaxVersion: 3,
		}},
		"hello_response": &private.HelloResponse{ErrorCode: int16(kerr.InconsistentClusterID), Message: new("oh!"), Node: private.Identity{
			NodeID: 1<<31 - 1, Incarnation: incarnation, MinVersion: 1, MaxVersion: 1,
		}},
		"raft_request": &private.RaftRequest{
			FromID: 1, FromDirectory: directory, ToID: 2, ToDirectory: incarnation, Messages: [][]byte{{8, 5}, {}},
		},
		"raft_response":    &private.RaftResponse{ErrorCode: int16(kerr.InvalidVoterKey)},
		"forward_request":  &private.ForwardRequest{RequestKey: 19, RequestVersion: 7, Body: []byte{1, 2, 3}},
		"forward_response": &private.ForwardResponse{Applied: 256, Body: []byte{}},
	}
}

func wire(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".hex"))
	if err != nil {
		t.Fatal(err)
	}
	var digits strings.Builder
	for line := range strings.Lines(string(text)) {
		before, _, _ := strings.Cut(line, "#")
		digits.WriteString(strings.Join(strings.Fields(before), ""))
	}
	b, err := hex.DecodeString(digits.String())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// blank gives an empty message of the same type.
func blank(m message) message {
	return reflect.New(reflect.TypeOf(m).Elem()).Interface().(message)
}

func TestMessagesAreWrittenAndReadAsTheFormatSays(t *testing.T) {
	for name, m := range golden() {
		want := wire(t, name)
		if got := m.AppendTo(nil); !bytes.Equal(got, want) {
			t.Errorf("%s is written as %x, want %x", name, got, want)
		}
		got := blank(m)
		if err := got.ReadFrom(want); err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("%s is read as %+v, %v", name, got, err)
		}
	}
}

func TestAFieldOfALaterVersionIsReadOver(t *testing.T) {
	for name, m := range golden() {
		b := wire(t, name)
		b = append(b[:len(b)-1], 1, 9, 2, 0xca, 0xfe) // one tagged field, number 9, two bytes
		if got := blank(m); got.ReadFrom(b) != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("%s is read as %+v, %v", name, got, got.ReadFrom(b))
		}
	}
}

func TestMessagesThatAreCutOffOrGoOnAreRefused(t *testing.T) {
	for name, m := range golden() {
		b := wire(t, name)
		for n := range len(b) {
			if err := blank(m).ReadFrom(b[:n]); err == nil {
				t.Errorf("%d of %d bytes of %s are taken for all of it", n, len(b), name)
			}
		}
		if err := blank(m).ReadFrom(append(b, 0)); err == nil {
			t.Errorf("%s with a byte behind it is taken", name)
		}
	}
}

func TestALengthIsNotBelieved(t *testing.T) {
	var before, after runtime.MemStats
	// 2^32-2 messages are claimed, and one byte follows.
	b := append(wire(t, "raft_request")[:40], 0xff, 0xff, 0xff, 0xff, 0x0f, 0)
	runtime.ReadMemStats(&before)
	err := (&private.RaftRequest{}).ReadFrom(b)
	runtime.ReadMemStats(&after)
	if bytes := after.TotalAlloc - before.TotalAlloc; err == nil || bytes > 1<<16 {
		t.Errorf("%d bytes set aside, err %v", bytes, err)
	}
}

func TestRequestsAndResponsesBelongTogether(t *testing.T) {
	for _, key := range []int16{private.HelloKey, private.RaftKey, private.ForwardKey} {
		req := private.NewRequest(key)
		resp := req.ResponseKind()
		if req.Key() != key || resp.Key() != key || reflect.TypeOf(resp.RequestKind()) != reflect.TypeOf(req) {
			t.Errorf("key %d: request %T of key %d, response %T of key %d", key, req, req.Key(), resp, resp.Key())
		}
		if !req.IsFlexible() || !resp.IsFlexible() || !frame.Flexible(key, req.MaxVersion()) {
			t.Errorf("key %d is not flexible everywhere", key)
		}
	}
	if private.NewRequest(frame.FirstPrivate-1) != nil {
		t.Error("there is a request below the private keys")
	}
}

func TestNodesRecognizeEachOther(t *testing.T) {
	self := private.Identity{ClusterID: "ours", NodeID: 1, Directory: directory, MinVersion: 2, MaxVersion: 3}
	for name, c := range map[string]struct {
		other private.Identity
		code  kerr.Code
		says  []string
	}{
		"a node of the cluster":           {private.Identity{ClusterID: "ours", NodeID: 2, MinVersion: 3, MaxVersion: 4}, kerr.None, nil},
		"a node of no cluster yet":        {private.Identity{NodeID: 2, MinVersion: 1, MaxVersion: 2}, kerr.None, nil},
		"a node of another cluster":       {private.Identity{ClusterID: "theirs", NodeID: 2, MinVersion: 3, MaxVersion: 3}, kerr.InconsistentClusterID, []string{"node 2", "theirs", "node 1", "ours"}},
		"another node with this one's id": {private.Identity{ClusterID: "ours", NodeID: 1, Directory: incarnation, MinVersion: 3, MaxVersion: 3}, kerr.DuplicateBrokerRegistration, []string{directory.String(), incarnation.String()}},
		"an older node":                   {private.Identity{ClusterID: "ours", NodeID: 2, MinVersion: 1, MaxVersion: 1}, kerr.UnsupportedVersion, []string{"node 2", "1 to 1", "node 1", "2 to 3"}},
		"a newer node":                    {private.Identity{ClusterID: "ours", NodeID: 2, MinVersion: 4, MaxVersion: 5}, kerr.UnsupportedVersion, []string{"4 to 5"}},
	} {
		err := self.Recognize(&c.other)
		var refused *kerr.Error
		if c.code == kerr.None {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if !errors.As(err, &refused) || refused.Code != c.code {
			t.Errorf("%s: %v, want %s", name, err, c.code.Name())
			continue
		}
		for _, part := range c.says {
			if !strings.Contains(refused.Detail, part) {
				t.Errorf("%s: %q does not name %q", name, refused.Detail, part)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	for name := range golden() {
		f.Add(wire(f, name))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for name, m := range golden() {
			got := blank(m)
			if got.ReadFrom(b) != nil {
				continue
			}
			again := blank(m)
			if err := again.ReadFrom(got.AppendTo(nil)); err != nil || !reflect.DeepEqual(got, again) {
				t.Fatalf("%s: %+v was read, written and read as %+v, %v", name, got, again, err)
			}
		}
	})
}
