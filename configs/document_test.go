package configs

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/configs.md and single.yaml anew")

const (
	documentFile = "../docs/configs.md"
	singleFile   = "single.yaml"
)

func TestGeneratedFilesAreFresh(t *testing.T) {
	for file, want := range map[string]string{documentFile: document(), singleFile: single()} {
		if *update {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s does not say what the tables say; run go generate ./configs", file)
		}
	}
}

func TestTheDocumentHoldsEveryKey(t *testing.T) {
	text := document()
	for title, keys := range everyTable() {
		for _, k := range keys {
			if !strings.Contains(text, "\n| `"+k.Name+"` |") {
				t.Errorf("%s: %s is not in the document", title, k.Name)
			}
		}
	}
}

func TestTheCommentedFileLoads(t *testing.T) {
	got := load(t, Options{File: singleFile})
	if len(got.Unused) != 0 {
		t.Errorf("it sets keys without effect: %v", got.Unused)
	}
}

// atDefault finds a key behind a #; the words of a comment stand after a blank, and headings after ##.
var atDefault = regexp.MustCompile(`(?m)^#([a-z])`)

func TestWhatTheCommentedFileSaysAreDefaultsAreDefaults(t *testing.T) {
	content, err := os.ReadFile(singleFile)
	if err != nil {
		t.Fatal(err)
	}
	spoken := atDefault.ReplaceAllString(string(content), "$1")
	got := load(t, Options{File: write(t, "all.yaml", spoken)})
	plain := load(t, Options{File: singleFile})
	if !reflect.DeepEqual(got.Broker, plain.Broker) {
		t.Errorf("with every key set\n%+v\nwith those that are not defaults\n%+v", got.Broker, plain.Broker)
	}
}

const preface = `# Configuration

<!-- Generated from the tables in configs/; change them and run: go generate ./configs -->

Keys, units and defaults are those of Apache Kafka 4.3. A broker takes them from these sources, each over the one before:

1. the default;
2. the file of ` + "`--config`" + `: YAML with Kafka's names, flat (` + "`log.retention.hours: 168`" + `) or nested (` + "`log: {retention: {hours: 168}}`" + `), or any other name in the
   form of Kafka's ` + "`server.properties`" + `; without a file, one node on 127.0.0.1:9092 that keeps its data in the user's data directory;
3. the environment: ` + "`TROUPE_LOG_RETENTION_HOURS=168`" + `;
4. ` + "`--set log.retention.hours=168`" + `, as often as needed;
5. dynamic defaults of all brokers, then dynamic values of one broker (` + "`kafka-configs --alter --entity-type brokers`" + `);
6. the overrides of a topic.

Changes: *start* keys are read when a broker starts; *broker* and *cluster* keys may be set dynamically in Kafka, the former for one broker only.
Keys marked *broker* are read at the start here too.

Effect: a key *acts*; or it is *accepted* without effect, and the log says so once at the start; or it is *refused*: only its default is taken.
A key that is in no table is an error.
`

func document() string {
	var out strings.Builder
	out.WriteString(preface)
	for _, t := range brokerTables {
		section(&out, t.title, t.keys)
	}
	section(&out, "Topics", topicKeys)
	section(&out, "Single groups", groupResourceKeys)
	section(&out, "Metrics subscriptions", metricsResourceKeys)
	section(&out, "Quotas", quotaKeys)
	return out.String()
}

func section(out *strings.Builder, title string, keys []Key) {
	fmt.Fprintf(out, "\n## %s\n\n| key | meaning | type | default | valid | changes | effect |\n|---|---|---|---|---|---|---|\n", title)
	for _, k := range keys {
		effect := "acts"
		if k.Effect != Acts {
			effect = map[Effect]string{Accepted: "accepted: ", Refused: "refused: "}[k.Effect] + k.Reason
		}
		kind := strings.ToLower(k.Type.javaName())
		if k.Unit != "" {
			kind += ", " + k.Unit
		}
		fmt.Fprintf(out, "| `%s` | %s | %s | %s | %s | %s | %s |\n", k.Name, cell(k.Doc), kind, standard(k), cell(k.Valid.text),
			[]string{"start", "broker", "cluster", "any time"}[k.Mode], cell(effect))
	}
}

func standard(k Key) string {
	switch {
	case k.Null:
		return "none"
	case k.Default == "":
		return "empty"
	}
	return "`" + k.Default + "`"
}

func cell(s string) string { return strings.NewReplacer("|", `\|`, "*", `\*`).Replace(s) }

// active are the lines of single.yaml that are not comments: what has no default, and what one node alone needs.
var active = map[string]string{
	"process.roles": "broker,controller",
	"node.id":       "1",
	"listeners":     "PLAINTEXT://127.0.0.1:9092",
	"log.dirs":      "./troupe-data",
	"admin.address": "127.0.0.1:9644",
}

func single() string {
	var out strings.Builder
	out.WriteString(`# One Troupe broker, alone: troupe start --config configs/single.yaml
#
# Every key that acts is here; those behind a # are at their default. docs/configs.md lists all keys, those without
# effect too. Generated from the tables in this folder: go generate ./configs
`)
	for _, t := range brokerTables {
		heading := "\n## " + t.title + "\n"
		for _, k := range t.keys {
			if k.Effect != Acts {
				continue
			}
			out.WriteString(heading + "\n" + commented(k))
			heading = ""
		}
	}
	return out.String()
}

// commented is a key with its documentation in front. A comment begins with "# ", a key at its default with "#".
func commented(k Key) string {
	about := k.Doc
	if k.Valid.text != "" {
		about += " Valid: " + k.Valid.text + "."
	}
	if k.Unit != "" {
		about += " In " + k.Unit + "."
	}
	about = wrapped(about)
	switch value, set := active[k.Name]; {
	case set:
		return fmt.Sprintf("%s%s: %s\n", about, k.Name, value)
	case k.Null:
		return fmt.Sprintf("%s#%s: null\n", about, k.Name)
	case k.Default == "":
		return fmt.Sprintf("%s#%s: \"\"\n", about, k.Name)
	default:
		return fmt.Sprintf("%s#%s: %s\n", about, k.Name, k.Default)
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
