package load

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
)

const (
	metadataVersion = 9
	quorumVersion   = 1
	// partitionsTogether is how many partitions a produce to many names at once: a client that has a record for each gathers as many.
	partitionsTogether = 250
)

// Spread is where the partitions of a cluster's topics stand, by its nodes' word.
type Spread struct {
	addresses map[int32]string
	leaders   map[string][]int32 // topic, partition
	InSync    int                // the smallest ISR
}

// Led counts the partitions that a node leads.
func (s *Spread) Led(node int32) (n int) {
	for _, leaders := range s.leaders {
		for _, leader := range leaders {
			if leader == node {
				n++
			}
		}
	}
	return n
}

// Inquire asks the nodes in turn until one tells of a layout's partitions.
func (l Layout) Inquire(addresses ...string) (s *Spread, err error) {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); pause(soon) {
		for _, address := range addresses {
			if s, err = l.inquire(address); err == nil {
				return s, nil
			}
		}
	}
	return nil, err
}

func (l Layout) inquire(address string) (s *Spread, err error) {
	c, err := Dial(address)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	req := kmsg.NewPtrMetadataRequest()
	req.Version = metadataVersion
	for _, name := range l.Names() {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &name
		req.Topics = append(req.Topics, t)
	}
	var resp kmsg.MetadataResponse
	if err := c.Do(req, &resp); err != nil {
		return nil, err
	}
	s = &Spread{addresses: map[int32]string{}, leaders: map[string][]int32{}, InSync: len(resp.Brokers)}
	for _, b := range resp.Brokers {
		s.addresses[b.NodeID] = net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
	}
	for _, t := range resp.Topics {
		leaders := make([]int32, l.Partitions)
		for i := range leaders {
			leaders[i] = -1
		}
		for _, p := range t.Partitions {
			leaders[p.Partition] = p.Leader
			s.InSync = min(s.InSync, len(p.ISR))
		}
		s.leaders[*t.Topic] = leaders
	}
	return s, nil
}

// ActiveController is the leader of the metadata quorum.
func ActiveController(address string) (id int32, err error) {
	c, err := Dial(address)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	req := kmsg.NewPtrDescribeQuorumRequest()
	req.Version = quorumVersion
	t := kmsg.NewDescribeQuorumRequestTopic()
	t.Topic, t.Partitions = "__cluster_metadata", []kmsg.DescribeQuorumRequestTopicPartition{{}}
	req.Topics = append(req.Topics, t)
	var resp kmsg.DescribeQuorumResponse
	if err := c.Do(req, &resp); err != nil {
		return 0, err
	}
	if code := kerr.Code(resp.ErrorCode); code != kerr.None || len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return 0, fmt.Errorf("describe quorum: %w", code)
	}
	return resp.Topics[0].Partitions[0].LeaderID, nil
}

// CreateReplicated makes the topics of a layout, once the cluster takes the request.
func (l Layout) CreateReplicated(replicas int, address string) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis = createVersion, int32(patience/time.Millisecond)
	for _, name := range l.Names() {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = name, int32(l.Partitions), int16(replicas)
		req.Topics = append(req.Topics, t)
	}
	c, err := Dial(address)
	if err != nil {
		return err
	}
	defer c.Close()
	var resp kmsg.CreateTopicsResponse
	if err := c.Do(req, &resp); err != nil {
		return err
	}
	for _, t := range resp.Topics {
		if code := kerr.Code(t.ErrorCode); code != kerr.None {
			return fmt.Errorf("create topic %s: %w", t.Topic, code)
		}
	}
	return nil
}

// AwaitReplicated produces a record to every partition with acks=all, where the metadata says that it is led, and again until
// it is acknowledged. It gives when each was.
func (l Layout) AwaitReplicated(addresses ...string) (Times, error) {
	began := time.Now()
	left := l.targets(batchOf(1, 100))
	var took Times
	for len(left) > 0 {
		if time.Since(began) > patience {
			return took, fmt.Errorf("%d partitions take no records after %v", len(left), patience)
		}
		s, err := l.Inquire(addresses...)
		if err != nil {
			return took, err
		}
		byLeader := map[int32][]target{}
		for _, t := range left {
			leader := s.leaders[t.topic][t.partition]
			byLeader[leader] = append(byLeader[leader], t)
		}
		var mu sync.Mutex
		var running sync.WaitGroup
		left = byLeader[-1]
		for leader, to := range byLeader {
			if leader == -1 {
				continue
			}
			running.Go(func() {
				refused, acked := replicate(s.addresses[leader], to, began)
				mu.Lock()
				defer mu.Unlock()
				left, took = append(left, refused...), append(took, acked...)
			})
		}
		running.Wait()
		pause(soon)
	}
	return took, nil
}

// replicate produces to partitions of one leader; whatever goes wrong leaves them refused.
func replicate(address string, to []target, began time.Time) (refused []target, acked Times) {
	c, err := Dial(address)
	if err != nil {
		return to, nil
	}
	defer c.Close()
	for len(to) > 0 {
		some := to[:min(len(to), partitionsTogether)]
		if err := c.Send(produceRequest(-1, some...)); err != nil {
			return append(refused, to...), acked
		}
		no, err := c.refusedOf(some)
		if err != nil {
			return append(refused, to...), acked
		}
		for range len(some) - len(no) {
			acked = append(acked, time.Since(began))
		}
		refused, to = append(refused, no...), to[len(some):]
	}
	return refused, acked
}
