// Package script lets the binary stand in for the files of Kafka's bin directory: which command a name means, links
// under those names, starting in the background and stopping.
package script

import (
	"path/filepath"
	"slices"
	"strings"

	"troupe/cmd/troupe/client/option"
)

// Line is a command line of the binary.
type Line struct {
	Args   []string
	Daemon bool // run it in the background and return
}

// Read gives the command line that args, with the name the binary was called by, means. Called as kafka-topics.sh,
// kafka-topics or kafka-topics.bat it is the command topics; under its own name the command is the first argument.
func Read(args []string) (Line, error) {
	name := filepath.Base(args[0])
	for _, suffix := range []string{".exe", ".sh", ".bat"} {
		name = strings.TrimSuffix(name, suffix)
	}
	command, ok := strings.CutPrefix(name, "kafka-")
	switch {
	case !ok:
		return Line{Args: args[1:]}, nil
	case command == "server-start":
		return serverLine(args[1:], Line{})
	case command == "run-class":
		return classLine(args[1:])
	}
	return Line{Args: append([]string{command}, args[1:]...)}, nil
}

// serverLine reads [-daemon] FILE [--override KEY=VALUE]….
func serverLine(args []string, l Line) (Line, error) {
	if len(args) > 0 && args[0] == "-daemon" {
		l.Daemon, args = true, args[1:]
	}
	if len(args) == 0 {
		return l, option.Fail("USAGE: kafka-server-start.sh [-daemon] server.properties [--override property=value]*")
	}
	l.Args = append([]string{"start"}, args...)
	return l, nil
}

// classLine reads what kafka-run-class.sh takes before the class, and the class.
func classLine(args []string) (Line, error) {
	var l Line
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch args[0] {
		case "-daemon":
			l.Daemon = true
		case "-name":
			args = args[min(1, len(args)-1):] // its value names a log file
		// Options of the Java virtual machine have nothing to act on; those that services pass by habit are let through.
		case "-loggc":
		default:
			return l, option.Fail("kafka-run-class.sh: %s is not an option that acts here: there is no Java virtual machine", args[0])
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return l, option.Fail("USAGE: kafka-run-class.sh [-daemon] [-name servicename] [-loggc] classname [opts]")
	}
	command, ok := classes[args[0]]
	if !ok {
		return l, option.Fail("Error: Could not find or load main class %s", args[0])
	}
	if command == "start" {
		return serverLine(args[1:], l)
	}
	l.Args = append([]string{command}, args[1:]...)
	return l, nil
}

const tools = "org.apache.kafka.tools."

// classes are the main classes of the scripts (facts/tools.md) with the names they had before 4.0.
var classes = map[string]string{
	"kafka.Kafka": "start",

	tools + "TopicCommand": "topics", "kafka.admin.TopicCommand": "topics",
	tools + "ConfigCommand": "configs", "kafka.admin.ConfigCommand": "configs",
	tools + "ConsoleProducer": "console-producer", "kafka.tools.ConsoleProducer": "console-producer",
	tools + "consumer.ConsoleConsumer": "console-consumer", "kafka.tools.ConsoleConsumer": "console-consumer",
	tools + "GetOffsetShell": "get-offsets", "kafka.tools.GetOffsetShell": "get-offsets",
	tools + "ProducerPerformance":                 "producer-perf-test",
	tools + "consumer.group.ConsumerGroupCommand": "consumer-groups", "kafka.admin.ConsumerGroupCommand": "consumer-groups",
	tools + "ConsumerPerformance": "consumer-perf-test",
	tools + "GroupsCommand":       "groups",
	tools + "EndToEndLatency":     "e2e-latency", "kafka.tools.EndToEndLatency": "e2e-latency",
	tools + "VerifiableProducer":    "verifiable-producer",
	tools + "VerifiableConsumer":    "verifiable-consumer",
	tools + "LeaderElectionCommand": "leader-election", "kafka.admin.LeaderElectionCommand": "leader-election",
	tools + "DeleteRecordsCommand": "delete-records", "kafka.admin.DeleteRecordsCommand": "delete-records",
	tools + "LogDirsCommand": "log-dirs", "kafka.admin.LogDirsCommand": "log-dirs",
	tools + "BrokerApiVersionsCommand": "broker-api-versions", "kafka.admin.BrokerApiVersionsCommand": "broker-api-versions",
	tools + "ClusterTool": "cluster", "kafka.tools.ClusterTool": "cluster",
	tools + "FeatureCommand": "features", "kafka.admin.FeatureCommand": "features",
	tools + "MetadataQuorumCommand": "metadata-quorum", "kafka.admin.MetadataQuorumCommand": "metadata-quorum",
	tools + "reassign.ReassignPartitionsCommand": "reassign-partitions", "kafka.admin.ReassignPartitionsCommand": "reassign-partitions",
	tools + "ReplicaVerificationTool": "replica-verification", "kafka.tools.ReplicaVerificationTool": "replica-verification",
	tools + "DumpLogSegments": "dump-log", "kafka.tools.DumpLogSegments": "dump-log",
	"kafka.tools.StorageTool": "storage",
}

// names are the files of bin that the binary can be.
func names() []string {
	all := []string{"kafka-server-start.sh", "kafka-server-stop.sh", "kafka-run-class.sh"}
	for _, command := range classes {
		if command != "start" {
			all = append(all, "kafka-"+command+".sh")
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
