package configs

import (
	"strings"
	"testing"
)

// unset are the mistakes whose key is one that the file does not set.
var unset = map[string]bool{"a listener without a protocol": true, "voters without a listener to reach them": true,
	"a controller without a listener of its own": true}

// Each mistake stands in line 3 of a server.properties that is otherwise sound; the error must hold every text.
func TestAMistakeIsNamedWithItsPlaceAndWhatWasExpected(t *testing.T) {
	for _, c := range []struct {
		title string
		line  string
		want  []string
	}{
		{"a word for a number", "log.retention.hours=abc", []string{"log.retention.hours", "abc", "a whole number of hours"}},
		{"a number that is too small", "log.segment.bytes=5", []string{"log.segment.bytes", "5", "at least 1048576"}},
		{"a mistyped key", "log.retension.hours=5", []string{"log.retension.hours=5", "not known", "log.retention.hours may be meant"}},
		{"a topic's key", "retention.ms=5", []string{"retention.ms=5", "not known", "the broker's is log.retention.ms"}},
		{"a topic's key that no broker has", "remote.storage.enable=true", []string{"remote.storage.enable=true", "not known", "docs/configs.md"}},
		{"ZooKeeper", "zookeeper.connect=localhost:2181", []string{"zookeeper.connect", "localhost:2181", "process.roles"}},
		{"the port of old", "port=9092", []string{"port", "9092", "listeners=PLAINTEXT://HOST:PORT"}},
		{"the host of old", "host.name=me", []string{"host.name", "me", "listeners=PLAINTEXT://HOST:PORT"}},
		{"the advertised host of old", "advertised.host.name=me", []string{"advertised.host.name", "advertised.listeners=PLAINTEXT://HOST:PORT"}},
		{"an authorizer", "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer", []string{"authorizer.class.name", "refused"}},
		{"a key store", "ssl.keystore.password=swordfish", []string{"ssl.keystore.password", "[hidden]", "no TLS"}},
		{"remote storage", "remote.log.storage.system.enable=true", []string{"remote.log.storage.system.enable", "true", "no remote storage"}},
		{"a SASL listener", "listeners=SASL_PLAINTEXT://:9094", []string{"listeners", "SASL_PLAINTEXT", "no SASL"}},
		{"a TLS listener", "listeners=SSL://:9093", []string{"listeners", "SSL", "no TLS"}},
		{"one port twice", "listeners=PLAINTEXT://:9092,B://:9092\nlistener.security.protocol.map=PLAINTEXT:PLAINTEXT,B:PLAINTEXT", []string{"listeners", "PLAINTEXT and B both want 9092"}},
		{"one name twice", "listeners=PLAINTEXT://:1,PLAINTEXT://:2", []string{"listeners", "PLAINTEXT is there twice"}},
		{"a listener without a protocol", "listeners=PLAINTEXT://:1,B://:2", []string{"listener.security.protocol.map", "listener B"}},
		{"no port", "listeners=PLAINTEXT://here", []string{"listeners", "HOST:PORT"}},
		{"a port out of range", "listeners=PLAINTEXT://here:70000", []string{"listeners", "70000", "0 to 65535"}},
		{"every address advertised", "listeners=PLAINTEXT://0.0.0.0:9092", []string{"listeners", "0.0.0.0", "advertised.listeners=PLAINTEXT://HOST:9092"}},
		{"an advertised name that is not listened on", "advertised.listeners=B://here:1", []string{"advertised.listeners", "B"}},
		{"no listener for brokers", "inter.broker.listener.name=B", []string{"inter.broker.listener.name=B", "advertised listener"}},
		{"controllers without a listener", "controller.listener.names=C", []string{"controller.listener.names=C", "names that are in listeners, and C is not"}},
		{"voters without this node", "controller.quorum.voters=2@b:9093", []string{"controller.quorum.voters=2@b:9093", "node.id", "1"}},
		{"a voter without an address", "controller.quorum.voters=1", []string{"controller.quorum.voters", "ID@HOST:PORT"}},
		{"one voter twice", "controller.quorum.voters=1@a:1,1@b:1", []string{"controller.quorum.voters", "1@a:1 and 1@b:1"}},
		{"two voters at one address", "controller.quorum.voters=1@a:1,2@a:1", []string{"controller.quorum.voters", "1@a:1 and 2@a:1"}},
		{"voters without a listener to reach them", "controller.quorum.voters=1@a:1,2@b:1", []string{"controller.listener.names", "reach each other"}},
		{"a broker without a controller", "process.roles=broker", []string{"process.roles=broker", "controller.quorum.bootstrap.servers"}},
		{"a broker that votes", "controller.quorum.voters=1@a:1\nprocess.roles=broker", []string{"controller.quorum.voters=1@a:1", "no controller by process.roles"}},
		{"a controller that nobody finds", "process.roles=controller", []string{"process.roles=controller", "controller.quorum.bootstrap.servers or controller.quorum.voters"}},
		{"a controller without a listener of its own", "process.roles=controller\ncontroller.quorum.voters=1@a:1", []string{"controller.listener.names: not set", "names in listeners"}},
		{"a controller with the listener of a broker", "listeners=PLAINTEXT://:1,C://:2\nprocess.roles=controller\ncontroller.quorum.voters=1@a:2\ncontroller.listener.names=C", []string{"listeners=PLAINTEXT://:1,C://:2", "PLAINTEXT is not", "no broker by process.roles"}},
		{"a name for controllers that nothing listens under", "controller.listener.names=C,D\nlisteners=C://:2\nprocess.roles=controller\ncontroller.quorum.voters=1@a:2", []string{"controller.listener.names=C,D", "D is not"}},
		{"a controller that is no voter", "controller.quorum.voters=2@a:2\nlisteners=C://:2\nprocess.roles=controller\ncontroller.listener.names=C", []string{"controller.quorum.voters=2@a:2", "node.id, which is 1, among the voters"}},
		{"a broker that serves the quorum", "controller.listener.names=C\nprocess.roles=broker\ncontroller.quorum.voters=2@a:1\nlisteners=PLAINTEXT://:1,C://:2", []string{"controller.listener.names=C", "does not say controller"}},
		{"a first quorum of more than can be found", "controller.quorum.initial.voters=2", []string{"controller.quorum.initial.voters=2", "which are 0"}},
		{"a cluster of its own beside another's address", "controller.quorum.initial.voters=1\ncontroller.quorum.bootstrap.servers=a:9093\nlisteners=PLAINTEXT://:9092,C://:9093\ncontroller.listener.names=C", []string{"controller.quorum.initial.voters=1", "a:9093", "expected 0 to join"}},
		{"a first quorum beside named voters", "controller.quorum.initial.voters=1\ncontroller.quorum.voters=1@a:1", []string{"controller.quorum.initial.voters=1", "names the voters"}},
		{"a key of gossip that is no base64", "cluster.gossip.key=swordfish", []string{"cluster.gossip.key=[hidden]", "base64 of 16, 24 or 32 bytes"}},
		{"a key of gossip that is too short", "cluster.gossip.key=c3dvcmRmaXNo", []string{"cluster.gossip.key=[hidden]", "16, 24 or 32 bytes"}},
		{"gossip that anybody could forge", "cluster.gossip.address=:7946", []string{"cluster.gossip.address=:7946", "cluster.gossip.key", "loopback"}},
		{"gossip without a port", "cluster.gossip.address=127.0.0.1", []string{"cluster.gossip.address=127.0.0.1", "HOST:PORT"}},
		{"seeds without gossip", "cluster.gossip.seeds=a:7946", []string{"cluster.gossip.seeds=a:7946", "cluster.gossip.address"}},
		{"a seed without a port", "cluster.gossip.seeds=a\ncluster.gossip.address=127.0.0.1:0", []string{"cluster.gossip.seeds=a", "HOST:PORT"}},
		{"retention of nothing", "log.retention.hours=0", []string{"log.retention.hours=0", "-1"}},
		{"heartbeats rarer than sessions", "broker.heartbeat.interval.ms=10000\nbroker.session.timeout.ms=9000", []string{"broker.heartbeat.interval.ms=10000", "9000"}},
		{"a setting of one listener", "listener.name.plaintext.max.connections=5", []string{"listener.name.plaintext.max.connections=5", "set max.connections"}},
		{"limits without a number", "max.connections.per.ip.overrides=localhost", []string{"max.connections.per.ip.overrides", "HOST:NUMBER"}},
		{"an empty directory", "log.dirs=/a,,/b", []string{"log.dirs", "none of them empty"}},
		{"a log level that is not one", "log.level=loud", []string{"log.level", "loud", "one of debug, info, warn, error"}},
	} {
		t.Run(c.title, func(t *testing.T) {
			file := write(t, "server.properties", "node.id=1\n# a comment\n"+c.line+"\n")
			_, err := Load(Options{File: file, Hostname: "here.example"})
			if err == nil {
				t.Fatal("it was taken")
			}
			for _, want := range append(c.want, "server.properties:3") {
				if unset[c.title] && want == "server.properties:3" {
					continue
				}
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\ndoes not say %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "swordfish") {
				t.Errorf("the secret is in the error: %v", err)
			}
		})
	}
}

func TestAllMistakesOfAFileAreNamedAtOnce(t *testing.T) {
	_, err := Load(Options{File: write(t, "a.yaml", "node.id: 1\nnum.partitions: none\nlog: {segment: {bytes: 7}}\nnope: 1\n")})
	if err == nil {
		t.Fatal("it was taken")
	}
	for _, want := range []string{"a.yaml:2", "a.yaml:3", "a.yaml:4"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not name %s", err, want)
		}
	}
}

func TestMistakesOfAllSourcesAreNamedInTheOrderOfTheirPlaces(t *testing.T) {
	file := write(t, "server.properties", "node.id=x\nzookeeper.connect=h:1\nnum.partitions=none\n")
	_, err := Load(Options{File: file, Environment: []string{"TROUPE_NOPE=1"}, Set: []string{"log.segment.bytes=7"}})
	if err == nil {
		t.Fatal("it was taken")
	}
	lines := strings.Split(err.Error(), "\n")
	want := [][]string{
		{"environment: TROUPE_NOPE=1", "not known"},
		{"--set: ", "log.segment.bytes", "7", "at least 1048576"},
		{file + ":1: ", "node.id", "x", "a whole number"},
		{file + ":2: ", "zookeeper.connect", "h:1", "process.roles"},
		{file + ":3: ", "num.partitions", "none", "a whole number"},
	}
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d:\n%v", len(lines), len(want), err)
	}
	for i, texts := range want {
		for _, text := range texts {
			if !strings.Contains(lines[i], text) {
				t.Errorf("line %d, %q, does not say %q", i, lines[i], text)
			}
		}
	}
}

func TestMistakesOutsideTheFileNameTheirSource(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Environment: []string{"TROUPE_LOG_RETENSION_HOURS=5"}}, "environment: TROUPE_LOG_RETENSION_HOURS=5"},
		{Options{Environment: []string{"TROUPE_NUM_PARTITIONS=x"}}, "environment: TROUPE_NUM_PARTITIONS"},
		{Options{Set: []string{"num.partitions"}}, "--set num.partitions: expected key=value"},
		{Options{Set: []string{"num.partitions=x"}}, "--set: Invalid value x"},
		{Options{File: "/nowhere/server.properties"}, "/nowhere/server.properties"},
	} {
		c.o.DataDir = "/d"
		if _, err := Load(c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
}

func TestANodeWithoutANumberIsAskedForOne(t *testing.T) {
	_, err := Load(Options{File: write(t, "a.yaml", "listeners: PLAINTEXT://:9092\n")})
	if err == nil || !strings.HasPrefix(err.Error(), "node.id: not set; expected the number of this node") {
		t.Errorf("without node.id: %v", err)
	}
}
