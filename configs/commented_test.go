package configs

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"troupe/internal/model"
)

// commentedFile is an example that holds every acting key.
type commentedFile struct {
	name   string
	head   string
	active map[string]string // the lines that are no comments
	notes  map[string]string // what the documentation of a key does not say, and the reader of this file needs
	given  []string          // --set of what each node is told beside the file
}

const everyKey = `# Every key that acts is here; those behind a # are at their default. docs/configs.md lists all keys, those without
# effect too. Generated from the tables in this folder: go generate ./configs
`

var commentedFiles = []commentedFile{
	{
		name: "single.yaml",
		head: "# One Troupe broker, alone: troupe start --config configs/single.yaml\n#\n" + everyKey,
		active: map[string]string{
			"process.roles": "broker,controller",
			"node.id":       "1",
			"listeners":     "PLAINTEXT://127.0.0.1:9092",
			"log.dirs":      "./troupe-data",
			"admin.address": "127.0.0.1:9644",
			// As in the server.properties that Kafka ships: three could never be met, and groups could not be coordinated.
			"offsets.topic.replication.factor": "1",
		},
	},
	{
		name: "cluster.yaml",
		head: `# One node of a Troupe cluster, the same file on every host; each is told its own number:
#
#	troupe start --config cluster.yaml --node-id 1          or TROUPE_NODE_ID=1 in the environment
#
# Replace the hosts in controller.quorum.bootstrap.servers. docs/operations.md tells how to start, grow and mend a cluster.
#
` + everyKey,
		active: map[string]string{
			"process.roles":                       "broker,controller",
			"listeners":                           "PLAINTEXT://:9092,CONTROLLER://:9093",
			"listener.security.protocol.map":      "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
			"controller.listener.names":           "CONTROLLER",
			"controller.quorum.bootstrap.servers": "node1.example:9093,node2.example:9093,node3.example:9093",
			"controller.quorum.initial.voters":    "3",
			"controller.quorum.auto.join.enable":  "true",
			"default.replication.factor":          "3",
			"min.insync.replicas":                 "2",
			"log.dirs":                            "/var/lib/troupe",
			"admin.address":                       "127.0.0.1:9644",
		},
		notes: map[string]string{
			"process.roles":          "Nodes beyond the third or the fifth need not vote: TROUPE_PROCESS_ROLES=broker and TROUPE_LISTENERS=PLAINTEXT://:9092 there.",
			"node.id":                "Each host gives its own, by --node-id or TROUPE_NODE_ID.",
			"broker.rack":            "Each host gives its own, by TROUPE_BROKER_RACK.",
			"cluster.gossip.address": "For example \":9094\": how a host that is cut off is noticed sooner, and found again at another address.",
			"cluster.gossip.seeds":   "For example node1.example:9094,node2.example:9094,node3.example:9094.",
			"advertised.listeners":   "The host's name is used where it is not set, so others have to be able to resolve it.",
		},
		given: []string{"node.id=2"},
	},
}

func TestTheCommentedFilesLoad(t *testing.T) {
	for _, f := range commentedFiles {
		got := load(t, Options{File: f.name, Set: f.given})
		if len(got.Unused) != 0 {
			t.Errorf("%s sets keys without effect: %v", f.name, got.Unused)
		}
	}
}

func TestTheFileOfOneBrokerAsksForNoMoreReplicasThanOne(t *testing.T) {
	b := load(t, Options{File: "single.yaml"}).Broker
	if b.Groups.OffsetsReplicationFactor != 1 || b.Topics.ReplicationFactor != 1 {
		t.Errorf("topics of offsets get %d replicas, others %d", b.Groups.OffsetsReplicationFactor, b.Topics.ReplicationFactor)
	}
}

// atDefault finds a key behind a #; the words of a comment stand after a blank, and headings after ##.
var atDefault = regexp.MustCompile(`(?m)^#([a-z])`)

func TestWhatTheCommentedFilesSayAreDefaultsAreDefaults(t *testing.T) {
	for _, f := range commentedFiles {
		content, err := os.ReadFile(f.name)
		if err != nil {
			t.Fatal(err)
		}
		spoken := atDefault.ReplaceAllString(string(content), "$1")
		got := load(t, Options{File: write(t, "all.yaml", spoken), Set: f.given})
		plain := load(t, Options{File: f.name, Set: f.given})
		if !reflect.DeepEqual(got.Broker, plain.Broker) {
			t.Errorf("%s: with every key set\n%+v\nwith those that are not defaults\n%+v", f.name, got.Broker, plain.Broker)
		}
	}
}

func TestTheFileOfAClusterServesAnyNumberOfItsNodes(t *testing.T) {
	for id := range 5 {
		b := load(t, Options{File: "cluster.yaml", Environment: []string{fmt.Sprintf("TROUPE_NODE_ID=%d", id+1)}, Hostname: "node1.example"}).Broker
		if b.NodeID != model.BrokerID(id+1) || b.Quorum.InitialVoters != 3 || len(b.Quorum.Bootstrap) != 3 || b.Listeners[0].Advertised != (Endpoint{"node1.example", 9092}) {
			t.Errorf("loaded node %d at %+v with %+v", b.NodeID, b.Listeners, b.Quorum)
		}
	}
	b := load(t, Options{File: "cluster.yaml", Environment: []string{
		"TROUPE_NODE_ID=6", "TROUPE_PROCESS_ROLES=broker", "TROUPE_LISTENERS=PLAINTEXT://:9092",
	}}).Broker
	if b.Roles.Controller || len(b.Listeners) != 1 || b.Quorum.InitialVoters != 0 {
		t.Errorf("a broker alone is loaded as %+v with %+v", b.Roles, b.Quorum)
	}
}

func (f commentedFile) text() string {
	var out strings.Builder
	out.WriteString(f.head)
	for _, t := range brokerTables {
		heading := "\n## " + t.title + "\n"
		for _, k := range t.keys {
			if k.Effect != Acts {
				continue
			}
			out.WriteString(heading + "\n" + f.commented(k))
			heading = ""
		}
	}
	return out.String()
}

// commented is a key with its documentation in front. A comment begins with "# ", a key at its default with "#".
func (f commentedFile) commented(k Key) string {
	about := []string{k.Doc}
	if note := f.notes[k.Name]; note != "" {
		about = append(about, note)
	}
	if k.Valid.text != "" {
		about = append(about, "Valid: "+k.Valid.text+".")
	}
	if k.Unit != "" {
		about = append(about, "In "+k.Unit+".")
	}
	words := wrapped(strings.Join(about, " "))
	switch value, set := f.active[k.Name]; {
	case set:
		return fmt.Sprintf("%s%s: %s\n", words, k.Name, value)
	case k.Null:
		return fmt.Sprintf("%s#%s: null\n", words, k.Name)
	case k.Default == "":
		return fmt.Sprintf("%s#%s: \"\"\n", words, k.Name)
	default:
		return fmt.Sprintf("%s#%s: %s\n", words, k.Name, k.Default)
	}
}

func TestACommentedFileSpeaksOfKeysThatAct(t *testing.T) {
	for _, f := range commentedFiles {
		for _, names := range []map[string]string{f.active, f.notes} {
			for name := range names {
				if k, known := brokerKeys()[name]; !known || k.Effect != Acts {
					t.Errorf("%s speaks of %s, which does not act", f.name, name)
				}
			}
		}
	}
}

// wrapped gives comment lines of at most 100 characters.
func wrapped(text string) string {
	var lines []string
	line := "#"
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > 100 {
			lines = append(lines, line)
			line = "#"
		}
		line += " " + word
	}
	return strings.Join(append(lines, line), "\n") + "\n"
}
