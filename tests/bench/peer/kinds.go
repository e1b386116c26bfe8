package peer

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Troupe is the binary at a path.
func Troupe(binary string) Kind {
	return Kind{
		Name: "troupe",
		command: func(b *Broker) *exec.Cmd {
			args := []string{"start"}
			for _, s := range append([]string{
				"node.id=1", "listeners=PLAINTEXT://" + b.Address, "log.dirs=" + b.Data(),
				fmt.Sprintf("admin.address=127.0.0.1:%d", b.listen.other),
			}, b.settings...) {
				args = append(args, "--set", s)
			}
			return exec.Command(binary, args...)
		},
	}
}

// Kafka is Apache Kafka from a folder of its jars: one node, broker and controller, with the heap that its figures in
// docs/performance.md were taken with.
func Kafka(jars string) Kind {
	return Kind{
		Name: "kafka",
		format: func(b *Broker) error {
			if err := os.WriteFile(b.properties(), []byte(b.kafkaProperties()), 0o644); err != nil {
				return err
			}
			format := java(jars, "-Xmx256m", "kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAQ", "-c", b.properties())
			if out, err := format.CombinedOutput(); err != nil {
				return fmt.Errorf("kafka storage format: %w\n%s", err, out)
			}
			return nil
		},
		command: func(b *Broker) *exec.Cmd {
			args := []string{"-Xmx1g", "kafka.Kafka", b.properties()}
			for _, s := range b.settings {
				args = append(args, "--override", s)
			}
			return java(jars, args...)
		},
	}
}

// java runs a class; it begins with an option for the machine.
func java(jars string, args ...string) *exec.Cmd {
	return exec.Command("java", append([]string{args[0], "-cp", filepath.Join(jars, "*")}, args[1:]...)...)
}

func (b *Broker) properties() string { return filepath.Join(b.dir, "server.properties") }

// kafkaProperties leaves everything at its default but what one node needs.
func (b *Broker) kafkaProperties() string {
	return strings.NewReplacer("DIR", b.Data(), "CLIENT", b.Address, "OTHER", fmt.Sprintf("127.0.0.1:%d", b.listen.other)).Replace(
		`process.roles=broker,controller
node.id=1
controller.quorum.voters=1@OTHER
listeners=PLAINTEXT://CLIENT,CONTROLLER://OTHER
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs=DIR
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
`)
}
