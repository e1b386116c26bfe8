package load

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
)

// ErrNoConsumerProtocol says that the broker does not coordinate by the consumer protocol (KIP-848).
var ErrNoConsumerProtocol = errors.New("the consumer protocol is switched off")

// Assembly is one group of the consumer protocol, of members with a connection each.
type Assembly struct {
	topic      string
	partitions int
	clients    []*Client
	running    sync.WaitGroup

	mu      sync.Mutex
	owned   []int // by member
	whole   chan time.Time
	failure error
}

const consumerHeartbeatVersion = 1

// Assemble has so many members join at once, and gives the time until each owns some of a topic's partitions, and they
// own all of them.
func Assemble(address, group, topic string, members, partitions int) (took time.Duration, err error) {
	a := &Assembly{topic: topic, partitions: partitions, owned: make([]int, members), whole: make(chan time.Time, 1)}
	defer func() { err = errors.Join(err, a.stop()) }()
	for range members {
		c, err := Dial(address)
		if err != nil {
			return 0, err
		}
		a.clients = append(a.clients, c)
	}
	began := time.Now()
	for i, c := range a.clients {
		a.running.Go(func() {
			if err := a.live(c, i, group); !errors.Is(err, net.ErrClosed) {
				a.fail(err)
			}
		})
	}
	select {
	case at := <-a.whole:
		return at.Sub(began), nil
	case <-time.After(patience):
		return 0, fmt.Errorf("the partitions are not all owned after %v", patience)
	}
}

// fail keeps the first failure, which the others follow from.
func (a *Assembly) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.failure == nil {
		a.failure = err
	}
	select {
	case a.whole <- time.Time{}:
	default:
	}
}

// live joins, takes what it is given at once, and goes on with heartbeats; its error is never nil.
func (a *Assembly) live(c *Client, i int, group string) error {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.MemberEpoch = consumerHeartbeatVersion, group, fmt.Sprintf("member-%04d", i), 0
	req.RebalanceTimeoutMillis, req.SubscribedTopicNames, req.Topics = 60_000, []string{a.topic}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	for {
		var resp kmsg.ConsumerGroupHeartbeatResponse
		if err := c.Do(req, &resp); err != nil {
			return err
		}
		switch code := kerr.Code(resp.ErrorCode); code {
		case kerr.None:
		case kerr.UnsupportedVersion:
			return ErrNoConsumerProtocol
		default:
			return fmt.Errorf("heartbeat: %w", code)
		}
		req.MemberEpoch = resp.MemberEpoch
		req.RebalanceTimeoutMillis, req.SubscribedTopicNames, req.Topics = -1, nil, nil // unchanged
		if resp.Assignment == nil {
			pause(time.Duration(resp.HeartbeatIntervalMillis) * time.Millisecond)
			continue
		}
		owned := 0
		req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		for _, t := range resp.Assignment.Topics {
			req.Topics = append(req.Topics, kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: t.TopicID, Partitions: t.Partitions})
			owned += len(t.Partitions)
		}
		a.own(i, owned)
	}
}

// own follows what each member has now. While partitions move, an old owner has let go before the new one is given them.
func (a *Assembly) own(i, partitions int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.owned[i] = partitions
	all := 0
	for _, n := range a.owned {
		if n == 0 {
			return // the first ones own everything until the others have come
		}
		all += n
	}
	if all == a.partitions {
		select {
		case a.whole <- time.Now():
		default: // it is known already
		}
	}
}

func (a *Assembly) stop() error {
	for _, c := range a.clients {
		_ = c.Close() // ends its goroutine
	}
	a.running.Wait()
	return a.failure
}
