package reassignpartitions

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"troupe/cmd/troupe/client/assignment"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/internal/model"
)

// anyDir stands for a replica whose log directory its broker chooses.
const anyDir = "any"

// moves is the file of --reassignment-json-file, and what the script prints of assignments:
//
//	{"version": 1, "partitions": [{"topic": "a", "partition": 0, "replicas": [1, 2], "log_dirs": ["any", "any"]}]}
type moves struct {
	Version    int    `json:"version"`
	Partitions []move `json:"partitions"`
}

type move struct {
	Topic     string   `json:"topic"`
	Partition int32    `json:"partition"`
	Replicas  []int32  `json:"replicas"`
	LogDirs   []string `json:"log_dirs"`
}

func (m move) partition() model.TopicPartition {
	return model.TopicPartition{Topic: m.Topic, Partition: m.Partition}
}

// parseMoves reads the file as it stands: what may not be executed may still be verified.
func parseMoves(text []byte) ([]move, error) {
	var file moves
	if err := decode(text, &file, &file.Version); err != nil {
		return nil, err
	}
	for _, m := range file.Partitions {
		if m.LogDirs != nil && len(m.LogDirs) != len(m.Replicas) {
			return nil, fmt.Errorf("Size of replicas list %s is different from size of log dirs list [%s] for partition %s",
				bracketed(m.Replicas), strings.Join(m.LogDirs, ", "), m.partition())
		}
	}
	return file.Partitions, nil
}

// decode reads JSON whose version is 1, or is not said.
func decode(text []byte, into any, version *int) error {
	*version = 1
	if err := json.Unmarshal(text, into); err != nil {
		return err
	}
	if *version != 1 {
		return fmt.Errorf("Not supported version field value %d", *version)
	}
	return nil
}

// executable refuses what no cluster could do, before anything is asked.
func executable(all []move) error {
	if len(all) == 0 {
		return fmt.Errorf("Partition reassignment list cannot be empty")
	}
	var partitions []model.TopicPartition
	var twice []string
	for _, m := range all {
		if len(m.Replicas) == 0 {
			return fmt.Errorf("Partition replica list cannot be empty")
		}
		partitions = append(partitions, m.partition())
		if again := repeated(m.Replicas); len(again) > 0 {
			twice = append(twice, fmt.Sprintf("%s contains multiple entries for %s", m.partition(), joined(again)))
		}
	}
	if again := kafkatext.Repeated(partitions); len(again) > 0 {
		return fmt.Errorf("Partition reassignment contains duplicate topic partitions: %s", strings.Join(again, ","))
	}
	if len(twice) > 0 {
		return fmt.Errorf("Partition replica lists may not contain duplicate entries: %s", strings.Join(twice, ". "))
	}
	return nil
}

// named are the replicas for which the file names a log directory.
func named(all []move) map[assignment.Replica]string {
	dirs := map[assignment.Replica]string{}
	for _, m := range all {
		for i, dir := range m.LogDirs {
			if dir != anyDir {
				dirs[assignment.Replica{TopicPartition: m.partition(), Broker: m.Replicas[i]}] = dir
			}
		}
	}
	return dirs
}

// parseTopics reads the file of --topics-to-move-json-file.
func parseTopics(text []byte) ([]string, error) {
	var file struct {
		Version int `json:"version"`
		Topics  []struct {
			Topic string `json:"topic"`
		} `json:"topics"`
	}
	if !json.Valid(text) {
		return nil, fmt.Errorf("The input string is not a valid JSON")
	}
	if err := decode(text, &file, &file.Version); err != nil {
		return nil, err
	}
	var names, again []string
	for _, t := range file.Topics {
		if slices.Contains(names, t.Topic) && !slices.Contains(again, t.Topic) {
			again = append(again, t.Topic)
		}
		names = append(names, t.Topic)
	}
	if len(again) > 0 {
		return nil, fmt.Errorf("List of topics to reassign contains duplicate entries: [%s]", strings.Join(kafkatext.HashOrder(again, 0), ", "))
	}
	return names, nil
}

// document writes assignments in the form of the file, by topic and partition. Directories that are not known are any.
func document(all []assignment.Target, dirs map[assignment.Replica]assignment.Directory) (string, error) {
	out := moves{Version: 1, Partitions: []move{}}
	for _, t := range slices.SortedFunc(slices.Values(all), byPartition) {
		m := move{t.Topic, t.Partition, t.Replicas, []string{}}
		for _, id := range t.Replicas {
			m.LogDirs = append(m.LogDirs, cmp.Or(dirs[assignment.Replica{TopicPartition: t.TopicPartition, Broker: id}].Current, anyDir))
		}
		out.Partitions = append(out.Partitions, m)
	}
	text, err := json.Marshal(out)
	return string(text), err
}

func byPartition(a, b assignment.Target) int {
	return assignment.Compare(a.TopicPartition, b.TopicPartition)
}

// repeated lists the brokers that stand in a list more than once, each once.
func repeated(ids []int32) []int32 {
	var again []int32
	for i, id := range ids {
		if slices.Contains(ids[:i], id) && !slices.Contains(again, id) {
			again = append(again, id)
		}
	}
	return again
}

func joined(ids []int32) string { return strings.Join(texts(ids), ",") }

func bracketed(ids []int32) string { return "[" + strings.Join(texts(ids), ", ") + "]" }

func texts(ids []int32) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = fmt.Sprint(id)
	}
	return out
}
