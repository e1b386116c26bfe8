// Package connection opens the client that commands talk to brokers with, from the options and properties that Kafka's
// scripts take, and says connection trouble the way they do.
package connection

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
)

// defaultTimeout is the Java client's default.api.timeout.ms.
const defaultTimeout = time.Minute

// Options are the two options every script has.
type Options struct {
	Bootstrap option.Text
	Config    option.Text
}

// Define adds --bootstrap-server (or its old name --broker-list) and --command-config.
func (o *Options) Define(fs *pflag.FlagSet) {
	option.Var(fs, &o.Bootstrap, "bootstrap-server", "HOST:PORT,...", "brokers to connect to first")
	option.Var(fs, &o.Config, "command-config", "FILE", "property file for the client")
}

// Properties reads the file of --command-config.
func (o *Options) Properties() (kafkatext.Properties, error) {
	path, err := o.Config.One()
	if err != nil || !o.Config.Given() {
		return kafkatext.Properties{}, err
	}
	return kafkatext.Load(path)
}

// Open connects with the properties of --command-config.
func (o *Options) Open(clientID string, warn io.Writer) (*Client, error) {
	props, err := o.Properties()
	if err != nil {
		return nil, err
	}
	bootstrap, err := o.Bootstrap.One()
	if err != nil {
		return nil, err
	}
	cl, err := Open(bootstrap, props, clientID, warn)
	if err != nil {
		return nil, fmt.Errorf("Failed to create new KafkaAdminClient: %w", err)
	}
	return cl, nil
}

// Client is a kgo client with the time the Java client gives one administrative call, which covers all its attempts
// (KIP-533). It is a kmsg.Requestor, so requests are sent by it and not by the kgo client inside.
type Client struct {
	*kgo.Client
	Timeout time.Duration

	controllers bool
	warner      *dialWarner
}

// Close ends the client and its warnings: what it still has under way on goroutines of its own is no longer the command's.
func (c *Client) Close() {
	c.warner.silence()
	c.Client.Close()
}

// OpenControllers makes a client for controllers, which answer no Metadata: every request goes to the first of them that is there.
func OpenControllers(bootstrap string, props kafkatext.Properties, clientID string, warn io.Writer) (*Client, error) {
	cl, err := Open(bootstrap, props, clientID, warn)
	if err != nil {
		return nil, fmt.Errorf("Failed to create new KafkaAdminClient: %w", err)
	}
	cl.controllers = true
	return cl, nil
}

// Request implements kmsg.Requestor.
func (c *Client) Request(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	if !c.controllers {
		return c.Client.Request(ctx, req)
	}
	switch req.(type) {
	case *kmsg.MetadataRequest, *kmsg.ListGroupsRequest, *kmsg.ListConfigResourcesRequest, *kmsg.DescribeClientQuotasRequest, *kmsg.DescribeUserSCRAMCredentialsRequest:
		return nil, &kafkatext.Failure{Code: kerr.UnsupportedEndpointType.Code, Text: brokersOnly}
	}
	controller, err := c.controller(ctx)
	if err != nil {
		return nil, err
	}
	return controller.RetriableRequest(ctx, req)
}

// controller is the first of those given that is there: kgo would look for one that has gone until the time is over.
func (c *Client) controller(ctx context.Context) (*kgo.Broker, error) {
	given := c.SeedBrokers()
	if len(given) == 1 {
		return given[0], nil
	}
	var err error
	for _, one := range given {
		if _, err = one.Request(ctx, NewApiVersions()); !Unreachable(err) {
			return one, nil
		}
	}
	return nil, err
}

// brokersOnly are the Java client's words for what controllers do not serve.
const brokersOnly = "This Admin API is not yet supported when communicating directly with the controller quorum."

// Open makes a client. Nothing is dialled yet, but the bootstrap names must resolve. Failed dials are told to warn,
// once an address.
func Open(bootstrap string, props kafkatext.Properties, clientID string, warn io.Writer, more ...kgo.Opt) (*Client, error) {
	seeds, err := resolve(bootstrap)
	if err != nil {
		return nil, err
	}
	timeout, err := Milliseconds(props, "default.api.timeout.ms", defaultTimeout)
	if err != nil {
		return nil, err
	}
	security, err := securityOptions(props)
	if err != nil {
		return nil, err
	}
	if id := props["client.id"]; id != "" {
		clientID = id
	}
	warner := &dialWarner{out: warn}
	opts := []kgo.Opt{
		kgo.SeedBrokers(seeds...), kgo.ClientID(clientID), kgo.WithHooks(warner),
		// The time alone bounds the retries, as in the Java client (KIP-91, KIP-533): a count would give up while a broker restarts.
		kgo.RetryTimeout(timeout), kgo.RequestRetries(1 << 20), kgo.DisableClientMetrics(),
		kgo.SoftwareNameAndVersion("troupe", "client"),
	}
	cl, err := kgo.NewClient(append(append(opts, security...), more...)...)
	if err != nil {
		return nil, err
	}
	return &Client{Client: cl, Timeout: timeout, warner: warner}, nil
}

// resolve checks the addresses as the Java client does: an invalid one is an error, and at least one must resolve.
func resolve(bootstrap string) ([]string, error) {
	var seeds []string
	for _, addr := range strings.Split(bootstrap, ",") {
		addr = strings.TrimSpace(addr)
		if addr == "" {
			continue
		}
		// Whether an address is well-formed is decided for every one of them, even if the first would do.
		host, port, err := net.SplitHostPort(addr)
		if err != nil || host == "" {
			return nil, fmt.Errorf("Invalid url in bootstrap.servers: %s", addr)
		}
		if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
			return nil, fmt.Errorf("Invalid port in bootstrap.servers: %s", addr)
		}
		// One name that resolves is enough: a cluster's list may hold brokers that are gone.
		if _, err := net.LookupHost(host); err == nil {
			seeds = append(seeds, addr)
		}
	}
	if len(seeds) == 0 {
		return nil, fmt.Errorf("No resolvable bootstrap urls given in bootstrap.servers: %s", bootstrap)
	}
	return seeds, nil
}

// Milliseconds reads a property in milliseconds.
func Milliseconds(props kafkatext.Properties, key string, def time.Duration) (time.Duration, error) {
	s, ok := props[key]
	if !ok {
		return def, nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("Invalid value %s for configuration %s: Not a number of milliseconds", s, key)
	}
	return time.Duration(n) * time.Millisecond, nil
}

// retryPause is how long Call waits after no broker could be dialled, or no coordinator was there.
const retryPause = 100 * time.Millisecond

// Call runs one administrative call under the client's timeout, again and again while no broker can be dialled: scripts
// count on being able to call right after a broker was started, or before any group has been there. name is that of the Java client, for the message.
func (c *Client) Call(ctx context.Context, name string, call func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err // kgo would dial all the same, and warn
	}
	within, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	err := call(within)
	for (Unreachable(err) || unsettled(err)) && within.Err() == nil {
		select {
		case <-within.Done():
		case <-time.After(retryPause):
			err = call(within)
		}
	}
	// Only the call's own time: an interrupt ends the command without a word about brokers.
	if err != nil && ctx.Err() == nil && within.Err() != nil && !early(err) {
		return fmt.Errorf("Timed out waiting for a node assignment. Call: %s", name)
	}
	if c.metControllers(within, err) {
		return unsupported("METADATA")
	}
	return err
}

// metControllers tells whether a connection was cut since the brokers that are named are controllers. kgo asks them for
// metadata whatever ApiVersions says, since they take no Produce either, and guesses that SASL is missing.
func (c *Client) metControllers(ctx context.Context, err error) bool {
	var cut *kgo.ErrFirstReadEOF
	if c.controllers || !errors.As(err, &cut) {
		return false
	}
	return slices.ContainsFunc(c.SeedBrokers(), func(one *kgo.Broker) bool {
		answer, err := NewApiVersions().RequestWith(ctx, one)
		return err == nil && answer.ErrorCode == 0 && !slices.ContainsFunc(answer.ApiKeys, func(k kmsg.ApiVersionsResponseApiKey) bool {
			return k.ApiKey == kmsg.Metadata.Int16()
		})
	})
}

// Unreachable tells whether a request failed because no broker could be dialled, which means that it was not sent.
func Unreachable(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// unsettled tells whether a group's coordinator was looked for while there was none: the topic of offsets is being made, or
// the coordinator moves. The Java client looks again; kgo does so for what a coordinator answers, and not for this.
func unsettled(err error) bool {
	return early(err) || errors.Is(err, kerr.CoordinatorNotAvailable) || errors.Is(err, kerr.CoordinatorLoadInProgress) || errors.Is(err, kerr.NotCoordinator)
}

// early tells whether an answer says that who leads is just changing, or who should follow does not yet.
func early(err error) bool {
	var told *kafkatext.Failure
	return errors.As(err, &told) && slices.Contains([]int16{
		kerr.NotController.Code, kerr.NotLeaderForPartition.Code, kerr.RequestTimedOut.Code,
	}, told.Code)
}

// Unsupported tells whether the cluster is too old for a request. kgo's error has no exported name.
func Unsupported(err error) bool {
	var told *kafkatext.Failure
	return err != nil && (errors.Is(err, kerr.UnsupportedVersion) || strings.Contains(err.Error(), "broker is too old") ||
		errors.As(err, &told) && told.Code == kerr.UnsupportedVersion.Code)
}

// dialWarner tells of each address that cannot be reached, once; the client goes on trying.
type dialWarner struct {
	out    io.Writer
	mu     sync.Mutex
	warned map[string]bool
	silent bool
}

// silence ends the warnings: when it returns, out is written to no more.
func (w *dialWarner) silence() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.silent = true
}

// OnBrokerConnect implements kgo.HookBrokerConnect.
func (w *dialWarner) OnBrokerConnect(meta kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	// A dial that the command itself gave up says nothing about the broker.
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, kgo.ErrClientClosed) {
		return
	}
	addr := net.JoinHostPort(meta.Host, strconv.Itoa(int(meta.Port)))
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.silent || w.warned[addr] {
		return
	}
	if w.warned == nil {
		w.warned = map[string]bool{}
	}
	w.warned[addr] = true
	fmt.Fprintf(w.out, "Connection to %s could not be established: %v\n", addr, cause(err))
}

// cause drops the layers that only repeat the address.
func cause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}
