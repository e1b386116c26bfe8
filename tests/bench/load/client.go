// Package load puts brokers under load with requests that are encoded beforehand where they can be, so that the client
// costs little of the machine that it shares with the broker.
package load

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
)

// Versions that both Kafka 4 and Troupe speak, the last that name topics by name.
const (
	produceVersion     = 9
	fetchVersion       = 12
	createVersion      = 5
	deleteVersion      = 5
	listOffsetsVersion = 5
)

// patience bounds every wait that only a hang would exceed.
const patience = 5 * time.Minute

var formatter = kmsg.NewRequestFormatter(kmsg.FormatterClientID("bench"))

// Client is one connection.
type Client struct {
	net.Conn
	in          *bufio.Reader
	correlation int32
	out, reply  []byte
}

// Dial connects.
func Dial(address string) (*Client, error) {
	c, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		return nil, err
	}
	// Where nobody listens yet on a port that the system might give to a client, a connection may meet itself.
	if c.LocalAddr().String() == c.RemoteAddr().String() {
		return nil, errors.Join(fmt.Errorf("nobody listens on %s", address), c.Close())
	}
	return &Client{Conn: c, in: bufio.NewReaderSize(c, 64<<10)}, nil
}

// Send writes a request.
func (c *Client) Send(req kmsg.Request) error {
	c.correlation++
	c.out = formatter.AppendRequest(c.out[:0], req, c.correlation)
	_, err := c.Write(c.out)
	return err
}

// Receive awaits a reply frame: what follows its correlation id, good until the next call.
func (c *Client) Receive() ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(c.in, size[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(size[:]))
	if n < 4 || n > 1<<30 {
		return nil, fmt.Errorf("a reply of %d bytes", n)
	}
	if cap(c.reply) < n {
		c.reply = make([]byte, n)
	}
	c.reply = c.reply[:n]
	_, err := io.ReadFull(c.in, c.reply)
	return c.reply[4:], err
}

// Do sends a request and decodes the reply into resp, whose version is set to the request's.
func (c *Client) Do(req kmsg.Request, resp kmsg.Response) error {
	if err := c.Send(req); err != nil {
		return err
	}
	return c.Decode(resp, req.GetVersion())
}

// Decode awaits a reply of the version. Byte slices in resp share the client's buffer.
func (c *Client) Decode(resp kmsg.Response, version int16) error {
	b, err := c.Receive()
	if err != nil {
		return err
	}
	resp.SetVersion(version)
	const apiVersions = 18 // its replies have no tagged fields in the header (KIP-511)
	if resp.IsFlexible() && resp.Key() != apiVersions {
		b = b[1:]
	}
	return resp.(kmsg.UnsafeReadFrom).UnsafeReadFrom(b)
}

// CreateTopics makes topics with equally many partitions, unless they are there, and waits until all have leaders.
func CreateTopics(address string, partitions int, names ...string) error {
	c, err := Dial(address)
	if err != nil {
		return err
	}
	defer c.Close()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis = createVersion, int32(patience/time.Millisecond)
	for _, name := range names {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = name, int32(partitions), 1
		// What a load has left behind makes room for the next one.
		delay := kmsg.NewCreateTopicsRequestTopicConfig()
		delay.Name, delay.Value = "file.delete.delay.ms", kmsg.StringPtr("1000")
		t.Configs = append(t.Configs, delay)
		req.Topics = append(req.Topics, t)
	}
	var resp kmsg.CreateTopicsResponse
	if err := c.Do(req, &resp); err != nil {
		return err
	}
	for _, t := range resp.Topics {
		if code := kerr.Code(t.ErrorCode); code != kerr.None && code != kerr.TopicAlreadyExists {
			return fmt.Errorf("create topic %s: %w", t.Topic, code)
		}
	}
	for _, name := range names {
		if err := c.awaitLeaders(name, partitions); err != nil {
			return err
		}
	}
	return nil
}

// awaitLeaders asks the leaders themselves until every partition has one: metadata tells of them before they begin.
func (c *Client) awaitLeaders(topic string, partitions int) error {
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID = listOffsetsVersion, -1
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	for i := range partitions {
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp = int32(i), -1
		t.Partitions = append(t.Partitions, p)
	}
	req.Topics = append(req.Topics, t)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); pause(soon) {
		var resp kmsg.ListOffsetsResponse
		if err := c.Do(req, &resp); err != nil {
			return err
		}
		led := 0
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				if kerr.Code(p.ErrorCode) == kerr.None {
					led++
				}
			}
		}
		if led == partitions {
			return nil
		}
	}
	return fmt.Errorf("topic %s has no leaders after %v", topic, patience)
}

// DeleteTopic removes a topic.
func DeleteTopic(address, name string) error {
	c, err := Dial(address)
	if err != nil {
		return err
	}
	defer c.Close()
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version, req.TimeoutMillis, req.TopicNames = deleteVersion, int32(patience/time.Millisecond), []string{name}
	var resp kmsg.DeleteTopicsResponse
	if err := c.Do(req, &resp); err != nil {
		return err
	}
	for _, t := range resp.Topics {
		if code := kerr.Code(t.ErrorCode); code != kerr.None {
			return fmt.Errorf("delete topic %s: %w", name, code)
		}
	}
	return nil
}

func pause(d time.Duration) { <-time.After(d) }
