//go:build interop

package interop

import (
	"fmt"
	"io"
	"os/exec"
	"testing"
	"time"

	"github.com/IBM/sarama"
	segmentio "github.com/segmentio/kafka-go"

	"troupe/tests/kafka"
	"troupe/tests/node"
)

// javaWriter is Kafka's console: its producer is idempotent and waits for all replicas. By the script's defaults, three attempts of
// 1.5 s, a line is given up on a busy machine, and nobody told.
func javaWriter(t *testing.T, address, topic string) func() int {
	t.Helper()
	return throughStdin(t, kafka.ToolLine(t, "console-producer", "--bootstrap-server", address, "--topic", topic,
		"--request-timeout-ms", "60000", "--message-send-max-retries", "1000000")...)
}

func kcatWriter(t *testing.T, address, topic string) func() int {
	t.Helper()
	return throughStdin(t, "kcat", "-b", address, "-P", "-t", topic, "-X", "enable.idempotence=true", "-X", "linger.ms=5")
}

// throughStdin has a command write what comes on its standard input. Ended well, it has written all of it.
func throughStdin(t *testing.T, line ...string) func() int {
	t.Helper()
	cmd := exec.Command(line[0], line[1:]...)
	var said output
	cmd.Stdout, cmd.Stderr = &said, &said
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := paced(t, func(line string) error {
		_, err := io.WriteString(in, line+"\n")
		return err
	})
	t.Cleanup(func() { cmd.Process.Kill() }) // before the writer is ended, which may wait for it
	return func() int {
		n := stop()
		if err := in.Close(); err != nil {
			t.Error(err)
		}
		overdue := time.AfterFunc(node.Patience, func() { cmd.Process.Kill() })
		defer overdue.Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v\n%s", line[0], err, said.String())
		}
		return n
	}
}

func saramaWriter(t *testing.T, address, topic string) func() int {
	t.Helper()
	config := sarama.NewConfig()
	config.Version, config.Net.MaxOpenRequests = sarama.MaxVersion, 1
	config.Producer.Idempotent, config.Producer.RequiredAcks = true, sarama.WaitForAll
	config.Producer.Retry.Max, config.Producer.Retry.Backoff, config.Producer.Return.Successes = 1000, 50*time.Millisecond, true
	producer, err := sarama.NewSyncProducer([]string{address}, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := producer.Close(); err != nil {
			t.Error(err)
		}
	})
	return paced(t, func(line string) error {
		_, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder(line)})
		return err
	})
}

// segmentioWriter has no idempotence: what it sends again after an error may be there twice.
func segmentioWriter(t *testing.T, address, topic string) func() int {
	t.Helper()
	producer := &segmentio.Writer{
		Addr: segmentio.TCP(address), Topic: topic, RequiredAcks: segmentio.RequireAll, BatchTimeout: time.Millisecond, MaxAttempts: 100,
	}
	t.Cleanup(func() {
		if err := producer.Close(); err != nil {
			t.Error(fmt.Errorf("kafka-go closes: %w", err))
		}
	})
	return paced(t, func(line string) error {
		return producer.WriteMessages(t.Context(), segmentio.Message{Value: []byte(line)})
	})
}
