package connection

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/kafkatext"
)

func TestAnAddressThatMakesNoSenseIsNamed(t *testing.T) {
	for addr, want := range map[string]string{
		"localhost":         "Invalid url in bootstrap.servers: localhost",
		"localhost:http":    "Invalid port in bootstrap.servers: localhost:http",
		"localhost:70000":   "Invalid port in bootstrap.servers: localhost:70000",
		" , ":               "No resolvable bootstrap urls given in bootstrap.servers:  , ",
		"nowhere.invalid:1": "No resolvable bootstrap urls given in bootstrap.servers: nowhere.invalid:1",
	} {
		if _, err := resolve(addr); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", addr, err, want)
		}
	}
	if got, err := resolve("127.0.0.1:1, [::1]:2"); err != nil || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
}

// The text is that of Kafka 4.3.1's tools against a broker without quotas.
func TestARequestThatNoBrokerTakesIsNamed(t *testing.T) {
	tooOld := errors.New("broker is too old; the broker has already indicated it will not know how to handle the request")
	for want, answer := range map[string]any{
		"The node does not support DESCRIBE_CLIENT_QUOTAS":          (*kmsg.DescribeClientQuotasResponse)(nil),
		"The node does not support DESCRIBE_USER_SCRAM_CREDENTIALS": (*kmsg.DescribeUserSCRAMCredentialsResponse)(nil),
		"The node does not support DESCRIBE_ACLS":                   (*kmsg.DescribeACLsResponse)(nil),
	} {
		if err := refused(answer, tooOld); !Unsupported(err) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestABrokerThatIsNotThereIsToldOnceAndThenTimesOut(t *testing.T) {
	const addr = "127.0.0.1:1" // a free port could be taken by another process before it is dialled
	var warnings bytes.Buffer
	cl, err := Open(addr, kafkatext.Properties{"default.api.timeout.ms": "2000"}, "test", &warnings)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	err = cl.Call(t.Context(), "listTopics", func(ctx context.Context) error {
		_, err := kmsg.NewPtrMetadataRequest().RequestWith(ctx, cl)
		return err
	})
	cl.Close()
	if err == nil || err.Error() != "Timed out waiting for a node assignment. Call: listTopics" {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("took %s", took)
	}
	if text := warnings.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, addr) {
		t.Errorf("warnings: %q", text)
	}
}

// A consumer that is closed while it looks for a partition that is not there gives up a dial.
func TestADialThatTheCommandGaveUpIsNotToldOf(t *testing.T) {
	var warnings bytes.Buffer
	w := &dialWarner{out: &warnings}
	for _, gaveUp := range []error{kgo.ErrClientClosed, context.Canceled} {
		w.OnBrokerConnect(kgo.BrokerMetadata{Host: "localhost", Port: 9092}, 0, nil, gaveUp)
	}
	if warnings.Len() > 0 {
		t.Errorf("got %q", &warnings)
	}
}

// kgo ends its dials on goroutines of its own, some after the client was closed.
func TestAClosedClientWarnsOfNothing(t *testing.T) {
	var warnings bytes.Buffer
	cl, err := Open("127.0.0.1:1", kafkatext.Properties{}, "test", &warnings)
	if err != nil {
		t.Fatal(err)
	}
	cl.Close()
	cl.warner.OnBrokerConnect(kgo.BrokerMetadata{Host: "localhost", Port: 9092}, 0, nil, syscall.ECONNREFUSED)
	if warnings.Len() > 0 {
		t.Errorf("got %q", &warnings)
	}
}

func TestAnInterruptedCallIsNotBegun(t *testing.T) {
	cl, err := Open("127.0.0.1:1", kafkatext.Properties{}, "test", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = cl.Call(ctx, "listTopics", func(context.Context) error {
		t.Error("it was")
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestAPropertyThatCannotActIsAnError(t *testing.T) {
	for _, props := range []kafkatext.Properties{
		{"security.protocol": "TLS"},
		{"security.protocol": "SASL_PLAINTEXT"},
		{"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "GSSAPI", "sasl.jaas.config": `X required username="u";`},
		{"security.protocol": "SSL", "ssl.truststore.location": "trust.jks"},
		{"default.api.timeout.ms": "soon"},
	} {
		if _, err := Open("127.0.0.1:1", props, "test", &bytes.Buffer{}); err == nil {
			t.Errorf("%v was taken", props)
		}
	}
}

func TestProducerPropertiesAreChecked(t *testing.T) {
	for key, value := range map[string]string{
		"acks": "2", "compression.type": "brotli", "linger.ms": "x", "buffer.memory": "-1", "retries": "many",
	} {
		if _, err := ProducerOptions(kafkatext.Properties{key: value}); err == nil || !strings.Contains(err.Error(), value) {
			t.Errorf("%s=%s: got %v", key, value, err)
		}
	}
}

func TestACallIsMadeAgainWhileThereIsNoCoordinator(t *testing.T) {
	c := &Client{Timeout: time.Minute}
	calls := 0
	err := c.Call(t.Context(), "listConsumerGroupOffsets", func(context.Context) error {
		if calls++; calls < 3 {
			return fmt.Errorf("offsets of g: %w", kerr.CoordinatorNotAvailable)
		}
		return kerr.GroupAuthorizationFailed
	})
	if calls != 3 || !errors.Is(err, kerr.GroupAuthorizationFailed) {
		t.Errorf("%d calls, %v", calls, err)
	}
}
