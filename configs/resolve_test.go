package configs

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"troupe/codec/kerr"
)

func TestListenersAreResolvedAsKafkaResolvesThem(t *testing.T) {
	for _, c := range []struct {
		title string
		set   map[string]string
		want  []Listener
		inter string
	}{
		{
			"one name, every address: this host is advertised",
			map[string]string{"listeners": "PLAINTEXT://:9092"},
			[]Listener{{"PLAINTEXT", "PLAINTEXT", Endpoint{"", 9092}, Endpoint{"here.example", 9092}, false}}, "PLAINTEXT",
		},
		{
			"a free port",
			map[string]string{"listeners": "PLAINTEXT://127.0.0.1:0"},
			[]Listener{{"PLAINTEXT", "PLAINTEXT", Endpoint{"127.0.0.1", 0}, Endpoint{"127.0.0.1", 0}, false}}, "PLAINTEXT",
		},
		{
			"two free ports do not clash",
			map[string]string{
				"listeners": "a://h:0,b://h:0", "listener.security.protocol.map": "A:PLAINTEXT,B:plaintext", "inter.broker.listener.name": "b",
			},
			[]Listener{
				{"A", "PLAINTEXT", Endpoint{"h", 0}, Endpoint{"h", 0}, false},
				{"B", "PLAINTEXT", Endpoint{"h", 0}, Endpoint{"h", 0}, false},
			}, "B",
		},
		{
			"IPv6 in brackets",
			map[string]string{"listeners": "PLAINTEXT://[::1]:9092"},
			[]Listener{{"PLAINTEXT", "PLAINTEXT", Endpoint{"::1", 9092}, Endpoint{"::1", 9092}, false}}, "PLAINTEXT",
		},
		{
			"a controller listener needs no protocol, and every address is no matter for it",
			map[string]string{"listeners": "PLAINTEXT://h:1,CONTROLLER://0.0.0.0:2", "controller.listener.names": "CONTROLLER"},
			[]Listener{
				{"PLAINTEXT", "PLAINTEXT", Endpoint{"h", 1}, Endpoint{"h", 1}, false},
				{"CONTROLLER", "PLAINTEXT", Endpoint{"0.0.0.0", 2}, Endpoint{"0.0.0.0", 2}, true},
			}, "PLAINTEXT",
		},
		{
			"a listener that is not advertised",
			map[string]string{
				"listeners": "PLAINTEXT://0.0.0.0:1,LOCAL://127.0.0.1:2", "advertised.listeners": "PLAINTEXT://outside:99",
				"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,LOCAL:PLAINTEXT",
			},
			[]Listener{
				{"PLAINTEXT", "PLAINTEXT", Endpoint{"0.0.0.0", 1}, Endpoint{"outside", 99}, false},
				{"LOCAL", "PLAINTEXT", Endpoint{"127.0.0.1", 2}, Endpoint{}, false},
			}, "PLAINTEXT",
		},
		{
			"one port on two addresses",
			map[string]string{
				"listeners": "PLAINTEXT://10.0.0.1:1,B://10.0.0.2:1", "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,B:PLAINTEXT",
			},
			[]Listener{
				{"PLAINTEXT", "PLAINTEXT", Endpoint{"10.0.0.1", 1}, Endpoint{"10.0.0.1", 1}, false},
				{"B", "PLAINTEXT", Endpoint{"10.0.0.2", 1}, Endpoint{"10.0.0.2", 1}, false},
			}, "PLAINTEXT",
		},
	} {
		t.Run(c.title, func(t *testing.T) {
			c.set["node.id"] = "1"
			b, err := Layers{Static: c.set, Hostname: "here.example"}.Resolve()
			if err != nil || !slices.Equal(b.Listeners, c.want) || b.InterBroker != c.inter {
				t.Errorf("resolved %+v, between brokers %s, %v", b.Listeners, b.InterBroker, err)
			}
		})
	}
}

func TestWhatIsSetForOneBrokerBeatsWhatIsSetForAll(t *testing.T) {
	l := Layers{
		Static:  map[string]string{"node.id": "1", "max.connections": "10", "max.connections.per.ip": "3"},
		Default: map[string]string{"max.connections": "20", "producer.id.expiration.ms": "1000"},
		Broker:  map[string]string{"max.connections": "30", "max.connections.per.ip.overrides": "[::1]:7,host:8"},
	}
	b, err := l.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	if b.Socket.ConnectionsMax != 30 || b.Socket.PerAddressMax != 3 || b.Producers.Expiration != time.Second {
		t.Errorf("resolved %+v, %+v", b.Socket, b.Producers)
	}
	if b.Socket.PerAddress["::1"] != 7 || b.Socket.PerAddress["host"] != 8 {
		t.Errorf("resolved %v", b.Socket.PerAddress)
	}
}

// A file of Kafka that sets the heartbeat alone must not get sessions that end between two of them (docs/adr/0019).
func TestALongHeartbeatLengthensSessionsThatAreNotSet(t *testing.T) {
	for set, want := range map[string]time.Duration{
		"": 2 * time.Second, "broker.heartbeat.interval.ms=300": 2 * time.Second, "broker.heartbeat.interval.ms=2000": 9 * time.Second,
		"broker.session.timeout.ms=5000": 5 * time.Second,
	} {
		o := Options{DataDir: "/data"}
		if set != "" {
			o.Set = []string{set}
		}
		loaded, err := Load(o)
		if err != nil {
			t.Fatal(err)
		}
		if got := loaded.Broker.Membership.SessionTimeout; got != want {
			t.Errorf("%q: sessions of %s, want %s", set, got, want)
		}
		// Who asks for the setting is told what acts, and what it would be otherwise.
		described, err := loaded.Layers.DescribeBroker([]string{"broker.session.timeout.ms"})
		if err != nil {
			t.Fatal(err)
		}
		if got := *described[0].Value; got != strconv.FormatInt(want.Milliseconds(), 10) {
			t.Errorf("%q: sessions are described as %s, want %s", set, got, want)
		}
		last := described[0].Synonyms[len(described[0].Synonyms)-1]
		if unset := map[string]string{"broker.heartbeat.interval.ms=2000": "9000"}[set]; last.Source != DefaultSource || *last.Value != cmp.Or(unset, "2000") {
			t.Errorf("%q: without a value it would be %s", set, *last.Value)
		}
	}
}

func TestATopicTakesTheBrokersValueInItsOwnUnit(t *testing.T) {
	for _, c := range []struct {
		static, all map[string]string
		want        time.Duration
	}{
		{nil, nil, 168 * time.Hour},
		{map[string]string{"log.retention.hours": "2"}, nil, 2 * time.Hour},
		{map[string]string{"log.retention.hours": "2", "log.retention.minutes": "3"}, nil, 3 * time.Minute},
		{map[string]string{"log.retention.minutes": "3", "log.retention.ms": "4"}, nil, 4 * time.Millisecond},
		{map[string]string{"log.retention.minutes": "3"}, map[string]string{"log.retention.ms": "5"}, 5 * time.Millisecond},
		{map[string]string{"log.retention.hours": "-1"}, nil, -time.Millisecond},
	} {
		topic, err := Layers{Static: c.static, Default: c.all}.Topic(nil)
		if err != nil || topic.Retention != c.want {
			t.Errorf("static %v, for all %v: kept for %v (%v), want %v", c.static, c.all, topic.Retention, err, c.want)
		}
	}
}

func TestInternalSegmentBytesBeatsSegmentBytes(t *testing.T) {
	topic, err := Layers{}.Topic(map[string]string{"segment.bytes": "2097152", "internal.segment.bytes": "1000"})
	if err != nil || topic.SegmentBytes != 1000 {
		t.Errorf("segments of %d bytes (%v)", topic.SegmentBytes, err)
	}
}

func TestWhatThisVersionCannotDoIsRefusedWithTheReason(t *testing.T) {
	value := func(s string) *string { return &s }
	for _, c := range []struct {
		key, value, reason string
		topic              bool
		code               kerr.Code
	}{
		{"remote.storage.enable", "true", noTiering, true, kerr.InvalidConfig},
		{"metric.reporters", "com.example.Reporter", noJava, false, kerr.InvalidRequest},
		{"listeners", "PLAINTEXT://:1", "cannot be changed while the broker runs", false, kerr.InvalidRequest},
		{"listener.name.plaintext.max.connections", "1", "set max.connections for all", false, kerr.InvalidRequest},
		{"zookeeper.connect", "x", "Cannot update these configs dynamically", false, kerr.InvalidRequest},
	} {
		var err error
		if c.topic {
			_, err = Layers{}.AlterTopic(nil, []Change{{c.key, Set, value(c.value)}})
		} else {
			_, err = asked().AlterBroker([]Change{{c.key, Set, value(c.value)}})
		}
		code, message := kerr.Of(err)
		if code != c.code || !strings.Contains(message, c.key) || !strings.Contains(message, c.reason) {
			t.Errorf("%s=%s: %d %s", c.key, c.value, code, message)
		}
	}
}

func TestTheDefaultOfARefusedKeyIsTaken(t *testing.T) {
	given := "false"
	if _, err := (Layers{}).CheckTopic(map[string]*string{"remote.storage.enable": &given}); err != nil {
		t.Error(err)
	}
}

func TestSettingsThatContradictEachOtherAreRefusedWhileTheBrokerRuns(t *testing.T) {
	bad := "nobody"
	_, err := asked().AlterBroker([]Change{{"max.connections.per.ip.overrides", Set, &bad}})
	if code, message := kerr.Of(err); code != kerr.InvalidRequest || !strings.Contains(message, "HOST:NUMBER") {
		t.Errorf("%d %s", code, message)
	}
}

func TestANewClusterRecordsMinInsyncReplicas(t *testing.T) {
	for static, want := range map[string]string{"": "1", "2": "2"} {
		l := Layers{Static: map[string]string{}}
		if static != "" {
			l.Static["min.insync.replicas"] = static
		}
		if got := l.Initial(); len(got) != 1 || got["min.insync.replicas"] != want {
			t.Errorf("static %q: recorded %v", static, got)
		}
	}
}
