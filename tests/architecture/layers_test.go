package architecture

import (
	"slices"
	"strings"
	"testing"
)

// layers says which layers a layer may import beside itself: imports point one way.
var layers = map[string][]string{
	"internal":     nil,
	"codec":        {"internal"},
	"configs":      {"internal", "codec"},
	"partitionlog": {"internal", "codec"},
	"cluster":      {"internal", "codec"},
	"actors":       {"internal", "codec", "configs", "partitionlog", "cluster"},
	"cmd":          {"internal", "codec", "configs", "partitionlog", "cluster", "actors"},
	"tests":        {"internal", "codec", "configs", "partitionlog", "cluster", "actors", "cmd"},
}

func TestImportsPointOneWay(t *testing.T) {
	for _, s := range sources(t, everything) {
		allowed, known := layers[s.top()]
		if !known {
			t.Errorf("%s: no layer is called %q", s.path, s.top())
			continue
		}
		for _, path := range s.imports() {
			inside, ours := strings.CutPrefix(path, module)
			if !ours {
				continue
			}
			layer := strings.SplitN(inside, "/", 2)[0]
			if layer != s.top() && !slices.Contains(allowed, layer) {
				t.Errorf("%s imports %s: %s may import only %v", s.path, path, s.top(), allowed)
			}
		}
	}
}

// homes says where a foreign module may be imported, so that replacing it touches one place. Tests may import any.
var homes = map[string][]string{
	"github.com/asynkron/protoactor-go":   {"actors/kit"},
	"github.com/hashicorp/memberlist":     {"actors"},
	"github.com/spf13/cobra":              {"cmd"},
	"github.com/spf13/viper":              {}, // docs/adr/0001
	"github.com/prometheus/client_golang": {"actors"},
	"go.etcd.io/raft":                     {"cluster/quorum"},
	"github.com/klauspost/compress":       {"codec/compress"},
	"github.com/pierrec/lz4":              {"codec/compress"},
	"golang.org/x/sys":                    {"internal", "cmd"},
	"golang.org/x/term":                   {"cmd"},
	"github.com/IBM/sarama":               {},
	"github.com/segmentio/kafka-go":       {},
	"github.com/twmb/franz-go/pkg/kgo":    {"cmd"},
	"github.com/twmb/franz-go/pkg/kadm":   {"cmd"},
	"github.com/twmb/franz-go/pkg/kfake":  {},
	"go.uber.org/goleak":                  {},
	"pgregory.net/rapid":                  {},
	"golang.org/x/tools":                  {},
	"github.com/anishathalye/porcupine":   {},
}

func TestForeignModulesStayInTheirHomes(t *testing.T) {
	for _, s := range sources(t, production) {
		for _, path := range s.imports() {
			for foreign, at := range homes {
				if !within(path, foreign) {
					continue
				}
				if !slices.ContainsFunc(at, func(home string) bool { return within(s.path, home) }) {
					t.Errorf("%s imports %s, which belongs in %v", s.path, path, at)
				}
			}
		}
	}
}

// within tells whether a slash-separated path is the folder or lies below it. A module's major version ("/v3") is
// an element of its own, so it lies below.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

func TestProtoactorIsSeenByTheKitAlone(t *testing.T) {
	for _, s := range sources(t, everything) {
		for _, path := range s.imports() {
			if within(path, "github.com/asynkron/protoactor-go") && s.dir() != "actors/kit" {
				t.Errorf("%s imports %s", s.path, path)
			}
		}
	}
}
