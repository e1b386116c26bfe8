package configs

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/configs.md, single.yaml and cluster.yaml anew")

const documentFile = "../docs/configs.md"

func TestGeneratedFilesAreFresh(t *testing.T) {
	files := map[string]string{documentFile: document()}
	for _, f := range commentedFiles {
		files[f.name] = f.text()
	}
	for file, want := range files {
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
Keys marked *broker* are read at the start here too, except ` + "`cordoned.log.dirs`" + `.

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
