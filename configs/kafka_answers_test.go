package configs

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"troupe/codec/kerr"
)

// asked is the broker whose answers are in testdata: what its server.properties held, and what a new topic found.
func asked() Layers {
	return Layers{
		Static: map[string]string{
			"process.roles": "broker,controller", "node.id": "1", "broker.id": "1",
			"controller.quorum.voters": "1@127.0.0.1:17193", "controller.listener.names": "CONTROLLER",
			"listeners":                                "PLAINTEXT://127.0.0.1:17192,CONTROLLER://127.0.0.1:17193",
			"listener.security.protocol.map":           "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
			"log.dirs":                                 "/data",
			"offsets.topic.replication.factor":         "1",
			"transaction.state.log.replication.factor": "1",
			"transaction.state.log.min.isr":            "1",
			"log.retention.hours":                      "24",
			"log.roll.hours":                           "48",
			"compression.type":                         "lz4",
			"log.flush.scheduler.interval.ms":          "5000",
			"foo.bar":                                  "1",
			"ssl.keystore.password":                    "secret",
		},
		Default: map[string]string{"min.insync.replicas": "1"},
	}
}

// described is an entry as the files in testdata write it.
func described(e Entry) string {
	show := func(v *string) string {
		if v == nil {
			return "<null>"
		}
		return *v
	}
	var kin []string
	for _, s := range e.Synonyms {
		kin = append(kin, fmt.Sprintf("%s=%s/%d", s.Name, show(s.Value), s.Source))
	}
	return fmt.Sprintf("%s=%s src=%d ro=%v sens=%v type=%d [%s]", e.Name, show(e.Value), e.Source, e.ReadOnly, e.Sensitive, e.Type, strings.Join(kin, "; "))
}

func answers(t *testing.T, file string) []string {
	t.Helper()
	content, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Split(string(content), "\n"), func(s string) bool { return s == "" || s[0] == '#' })
}

// otherDefaults are those that a decision gave another value than Kafka's.
var otherDefaults = map[string]string{
	// docs/adr/0014, 0015, 0016, 0019
	"broker.heartbeat.interval.ms":          "broker.heartbeat.interval.ms=400 src=5 ro=true sens=false type=3 [broker.heartbeat.interval.ms=400/5]",
	"broker.session.timeout.ms":             "broker.session.timeout.ms=2000 src=5 ro=true sens=false type=3 [broker.session.timeout.ms=2000/5]",
	"controller.quorum.election.timeout.ms": "controller.quorum.election.timeout.ms=200 src=5 ro=true sens=false type=3 [controller.quorum.election.timeout.ms=200/5]",
	"num.recovery.threads.per.data.dir":     "num.recovery.threads.per.data.dir=24 src=5 ro=false sens=false type=3 [num.recovery.threads.per.data.dir=24/5]",
	"socket.send.buffer.bytes":              "socket.send.buffer.bytes=204800 src=5 ro=true sens=false type=3 [socket.send.buffer.bytes=204800/5]",
	"socket.receive.buffer.bytes":           "socket.receive.buffer.bytes=-1 src=5 ro=true sens=false type=3 [socket.receive.buffer.bytes=-1/5]",
}

func TestABrokerIsDescribedAsKafkaDescribesIt(t *testing.T) {
	entries, err := asked().DescribeBroker(nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range entries {
		if !brokerKeys()[e.Name].Own {
			got[e.Name] = described(e)
		}
	}
	for _, want := range answers(t, "kafka-4.3.1-describe-broker.txt") {
		name, _, _ := strings.Cut(want, "=")
		if ours, decided := otherDefaults[name]; decided {
			want = ours
		}
		if got[name] != want {
			t.Errorf("described\n  %s\nKafka:\n  %s", got[name], want)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("%s is described, and Kafka does not", name)
	}
}

func TestATopicIsDescribedAsKafkaDescribesIt(t *testing.T) {
	entries, err := asked().DescribeTopic(map[string]string{"retention.ms": "1000", "min.insync.replicas": "1"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, described(e))
		if e.Doc == "" {
			t.Errorf("%s is described without a documentation", e.Name)
		}
	}
	slices.Sort(got)
	if want := answers(t, "kafka-4.3.1-describe-topic.txt"); !slices.Equal(got, want) {
		t.Errorf("described\n%s\nKafka:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// conversation plays the requests of a file against layers that change as Kafka's did.
type conversation struct {
	layers Layers
	topic  map[string]string
}

func (c *conversation) ask(line string) (answer string, err error) {
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "create":
		overrides := map[string]*string{}
		for _, arg := range arguments(rest) {
			change(arg, func(key string, value *string) { overrides[key] = value })
		}
		_, err = c.layers.CheckTopic(overrides)
	case "alter", "alter-all":
		err = c.alter(verb == "alter-all", changes(arguments(rest)))
	case "describe-all":
		return described(c.layers.DescribeDefaults([]string{rest})[0]), nil
	default:
		var entries []Entry
		if verb == "describe" && c.topic == nil {
			entries, err = c.layers.DescribeBroker([]string{rest})
		} else {
			topic := c.topic
			if topic == nil {
				topic = map[string]string{"retention.ms": "1000", "min.insync.replicas": "1"}
			}
			entries, err = c.layers.DescribeTopic(topic, []string{rest})
		}
		if err != nil || len(entries) != 1 {
			return "", fmt.Errorf("%d entries, %w", len(entries), err)
		}
		return described(entries[0]), nil
	}
	if code, message := kerr.Of(err); code != kerr.None {
		return fmt.Sprintf("%d %s", code, message), nil
	}
	return "0", nil
}

func (c *conversation) alter(all bool, list []Change) error {
	var next map[string]string
	var err error
	into := &c.topic
	switch {
	case c.topic != nil:
		next, err = c.layers.AlterTopic(c.topic, list)
	case all:
		into = &c.layers.Default
		next, err = c.layers.AlterDefaults(list)
	default:
		into = &c.layers.Broker
		next, err = c.layers.AlterBroker(list)
	}
	if err == nil {
		*into = next
	}
	return err
}

func arguments(rest string) []string {
	if quoted, err := strconv.Unquote(rest); err == nil {
		return []string{quoted}
	}
	return strings.Fields(rest)
}

func change(arg string, to func(key string, value *string)) {
	if key, value, given := strings.Cut(arg, "="); given {
		to(key, &value)
	} else {
		to(key, nil)
	}
}

func changes(args []string) []Change {
	ops := map[string]Op{"set": Set, "del": Delete, "app": Append, "sub": Subtract}
	var list []Change
	for _, arg := range args {
		op, rest, _ := strings.Cut(arg, ":")
		change(rest, func(key string, value *string) { list = append(list, Change{key, ops[op], value}) })
	}
	return list
}

func TestTopicsAreAlteredAsKafkaAltersThem(t *testing.T) {
	play(t, "kafka-4.3.1-alter-topic.txt", &conversation{layers: Layers{}, topic: map[string]string{}})
}

func TestBrokersAreAlteredAsKafkaAltersThem(t *testing.T) {
	play(t, "kafka-4.3.1-alter-broker.txt", &conversation{layers: asked()})
}

func play(t *testing.T, file string, c *conversation) {
	lines := answers(t, file)
	for i := 0; i < len(lines); i += 2 {
		before := maps.Clone(c.topic)
		got, err := c.ask(lines[i])
		if err != nil || got != lines[i+1] {
			t.Errorf("%s\n  answered %q (%v)\n  Kafka:   %q", lines[i], got, err, lines[i+1])
		}
		if strings.HasPrefix(got, "4") && !maps.Equal(before, c.topic) {
			t.Errorf("%s changed something although it was refused", lines[i])
		}
	}
}
