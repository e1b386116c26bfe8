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
		command: func(dir string, listen ports, settings []string) (*exec.Cmd, error) {
			args := []string{"start"}
			for _, s := range append([]string{
				"node.id=1", fmt.Sprintf("listeners=PLAINTEXT://127.0.0.1:%d", listen.client), "log.dirs=" + dir,
				fmt.Sprintf("admin.address=127.0.0.1:%d", listen.other),
			}, settings...) {
				args = append(args, "--set", s)
			}
			return exec.Command(binary, args...), nil
		},
	}
}

// Kafka is Apache Kafka from a folder of its jars: one node, broker and controller, with the heap that its figures in
// docs/performance.md were taken with.
func Kafka(jars string) Kind {
	return Kind{
		Name: "kafka",
		format: func(dir string, listen ports) error {
			if err := os.WriteFile(properties(dir), []byte(kafkaProperties(dir, listen)), 0o644); err != nil {
				return err
			}
			format := java(jars, "-Xmx256m", "kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAQ", "-c", properties(dir))
			if out, err := format.CombinedOutput(); err != nil {
				return fmt.Errorf("kafka storage format: %w\n%s", err, out)
			}
			return nil
		},
		command: func(dir string, _ ports, settings []string) (*exec.Cmd, error) {
			args := []string{"-Xmx1g", "kafka.Kafka", properties(dir)}
			for _, s := range settings {
				args = append(args, "--override", s)
			}
			return java(jars, args...), nil
		},
	}
}

// java runs a class; it begins with an option for the machine.
func java(jars string, args ...string) *exec.Cmd {
	return exec.Command("java", append([]string{args[0], "-cp", filepath.Join(jars, "*")}, args[1:]...)...)
}

// properties stands in the data directory's parent, which Kafka does not look at.
func properties(dir string) string { return dir + ".properties" }

// kafkaProperties leaves everything at its default but what one node needs, and the time after which a broker counts
// as dead: it is paused while the other one is measured.
func kafkaProperties(dir string, listen ports) string {
	return strings.NewReplacer("DIR", dir, "CLIENT", fmt.Sprint(listen.client), "OTHER", fmt.Sprint(listen.other)).Replace(
		`process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:OTHER
listeners=PLAINTEXT://127.0.0.1:CLIENT,CONTROLLER://127.0.0.1:OTHER
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs=DIR
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
broker.session.timeout.ms=600000
`)
}
