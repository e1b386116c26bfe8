package topics

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"

	"troupe/internal/model"
)

// topic is what --describe knows of a topic; the tags are the names of -o json.
type topic struct {
	Name              string      `json:"topic"`
	ID                string      `json:"topicId,omitempty"`
	PartitionCount    int         `json:"partitionCount"`
	ReplicationFactor int         `json:"replicationFactor"`
	Configs           configs     `json:"configs"`
	Partitions        []partition `json:"partitions"`

	minISR       int
	printSummary bool
}

// config is one setting that is not the default; a sensitive one has no value.
type config struct {
	name  string
	value *string
}

// configs keeps the broker's order for the text, and is an object in JSON.
type configs []config

type partition struct {
	Partition    int32         `json:"partition"`
	Leader       int32         `json:"leader"`
	Replicas     []int32       `json:"replicas"`
	ISR          []int32       `json:"isr"`
	Reassignment *reassignment `json:"reassignment,omitempty"`
	ELR          []int32       `json:"elr"`          // nil: not known
	LastKnownELR []int32       `json:"lastKnownElr"` // nil: not known
}

// reassignment is a move under way (KIP-455): replicas is the list while it lasts, with those that come and those that go.
type reassignment struct {
	Adding   []int32 `json:"addingReplicas"`
	Removing []int32 `json:"removingReplicas"`
	replicas []int32
}

// factor is the replication factor apart from a move under way, which is over once no replica is added or removed.
func (p *partition) factor() int {
	if r := p.Reassignment; r != nil {
		for _, id := range p.Replicas {
			if slices.Contains(r.Adding, id) || slices.Contains(r.Removing, id) {
				return len(r.replicas) - len(r.Adding)
			}
		}
	}
	return len(p.Replicas)
}

// filter applies the report options: which topics get a summary line and which partitions are shown.
func (c *command) filter(topics []*topic, live map[int32]bool) []*topic {
	report := false
	for _, name := range reports {
		report = report || c.has(name)
	}
	overrides := c.has("topics-with-overrides")
	shown := []*topic{}
	for _, t := range topics {
		sort.Slice(t.Partitions, func(i, j int) bool { return t.Partitions[i].Partition < t.Partitions[j].Partition })
		t.PartitionCount = len(t.Partitions)
		if len(t.Partitions) > 0 {
			t.ReplicationFactor = t.Partitions[0].factor()
		}
		t.printSummary = !report && (!overrides || len(t.Configs) > 0)
		if overrides {
			t.Partitions = nil
		}
		if report {
			t.Partitions = slices.DeleteFunc(t.Partitions, func(p partition) bool { return !c.reported(t, &p, live) })
		}
		if t.printSummary || len(t.Partitions) > 0 {
			shown = append(shown, t)
		}
	}
	return shown
}

// reported tells whether one of the reports that were asked for names the partition.
func (c *command) reported(t *topic, p *partition, live map[int32]bool) bool {
	return c.has("under-replicated-partitions") && p.factor() > len(p.ISR) ||
		c.has("unavailable-partitions") && (p.Leader < 0 || !live[p.Leader]) ||
		c.has("under-min-isr-partitions") && (p.Leader < 0 || len(p.ISR) < t.minISR) ||
		c.has("at-min-isr-partitions") && len(p.ISR) == t.minISR
}

// print writes the lines of kafka-topics --describe.
func (t *topic) print(w io.Writer) {
	if t.printSummary {
		fmt.Fprintf(w, "Topic: %s", t.Name)
		if t.ID != "" {
			fmt.Fprintf(w, "\tTopicId: %s", t.ID)
		}
		fmt.Fprintf(w, "\tPartitionCount: %d\tReplicationFactor: %d\tConfigs: %s\n", t.PartitionCount, t.ReplicationFactor, t.Configs)
	}
	for i := range t.Partitions {
		t.Partitions[i].print(w, t.Name)
	}
}

// print writes the tabs as the script does: tools cut its output at them.
func (p *partition) print(w io.Writer, topic string) {
	leader := "none"
	if p.Leader >= 0 {
		leader = strconv.Itoa(int(p.Leader))
	}
	fmt.Fprintf(w, "\tTopic: %s\tPartition: %d\tLeader: %s\tReplicas: %s\tIsr: %s",
		topic, p.Partition, leader, list(p.Replicas, ",", "", ""), list(p.ISR, ",", "", ""))
	if r := p.Reassignment; r != nil {
		fmt.Fprintf(w, "\tAdding Replicas: %s\tRemoving Replicas: %s", list(r.Adding, ",", "", ""), list(r.Removing, ",", "", ""))
	}
	fmt.Fprintf(w, "\tElr: %s\tLastKnownElr: %s\n", known(p.ELR), known(p.LastKnownELR))
}

// known tells "none" from "not known": a broker that has no ELR answers with null.
func known(ids []int32) string {
	if ids == nil {
		return "N/A"
	}
	return list(ids, ",", "", "")
}

func list(ids []int32, sep, before, after string) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = strconv.Itoa(int(id))
	}
	return before + strings.Join(words, sep) + after
}

// String gives name=value pairs; a sensitive value shows as null.
func (cs configs) String() string {
	pairs := make([]string, len(cs))
	for i, c := range cs {
		value := "null"
		if c.value != nil {
			value = *c.value
		}
		pairs[i] = c.name + "=" + value
	}
	return strings.Join(pairs, ",")
}

// MarshalJSON gives an object.
func (cs configs) MarshalJSON() ([]byte, error) {
	m := make(map[string]*string, len(cs))
	for _, c := range cs {
		m[c.name] = c.value
	}
	return json.Marshal(m)
}

// uuid gives a topic id as Kafka writes it; no id is empty.
func uuid(id [16]byte) string {
	if u := model.UUID(id); !u.IsZero() {
		return u.String()
	}
	return ""
}
