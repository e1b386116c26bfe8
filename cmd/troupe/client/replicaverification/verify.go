package replicaverification

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/assignment"
	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
	"troupe/codec/batch"
	"troupe/internal/model"
)

// verification goes round the brokers: each round reads every replica from one offset on, and compares.
type verification struct {
	client     *connection.Client
	orders     *orders
	streams    option.Streams
	partitions []assignment.Partition
	ids        map[string][16]byte
	names      map[[16]byte]string
	next       map[model.TopicPartition]int64 // all replicas are alike below
	told       time.Time
}

func newVerification(client *connection.Client, o *orders, s option.Streams, found *assignment.Cluster) *verification {
	v := &verification{client: client, orders: o, streams: s, ids: found.TopicIDs, names: map[[16]byte]string{}, next: map[model.TopicPartition]int64{}}
	for name, id := range found.TopicIDs {
		v.names[id] = name
	}
	for _, p := range found.Partitions {
		if o.topics.MatchString(p.Topic) {
			v.partitions = append(v.partitions, p)
		}
	}
	return v
}

// seek finds where to begin in each partition. A time after all records is the end of the partition.
func (v *verification) seek(ctx context.Context) error {
	times := []int64{v.orders.begin}
	if v.orders.begin >= 0 {
		times = append(times, -1)
	}
	for _, at := range times {
		req := kmsg.NewPtrListOffsetsRequest()
		req.ReplicaID = -1
		for _, p := range v.partitions {
			if v.next[p.TopicPartition] > 0 {
				continue
			}
			if last := len(req.Topics) - 1; last < 0 || req.Topics[last].Topic != p.Topic {
				t := kmsg.NewListOffsetsRequestTopic()
				t.Topic = p.Topic
				req.Topics = append(req.Topics, t)
			}
			one := kmsg.NewListOffsetsRequestTopicPartition()
			one.Partition, one.Timestamp = p.TopicPartition.Partition, at
			last := &req.Topics[len(req.Topics)-1]
			last.Partitions = append(last.Partitions, one)
		}
		resp, err := connection.Ask(ctx, v.client, "listOffsets", req.RequestWith)
		if err != nil {
			return err
		}
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				if err := kafkatext.Answer(p.ErrorCode, nil); err != nil {
					return err
				}
				v.next[model.TopicPartition{Topic: t.Topic, Partition: p.Partition}] = max(p.Offset, 0)
			}
		}
	}
	return nil
}

// copyOf is what one replica answered.
type copyOf struct {
	broker        int32
	highWatermark int64
	batches       []byte
}

// round reads all replicas, compares, and tells how far it is when that is due. A broker that does not answer leaves its
// partitions where they are: they are compared when it is back.
func (v *verification) round(ctx context.Context) error {
	byBroker := map[int32][]assignment.Partition{}
	for _, p := range v.partitions {
		for _, id := range p.Replicas {
			byBroker[id] = append(byBroker[id], p)
		}
	}
	type answer struct {
		broker int32
		resp   *kmsg.FetchResponse
		err    error
	}
	answers := make(chan answer, len(byBroker))
	for id, partitions := range byBroker {
		go func() {
			resp, err := v.fetch(ctx, id, partitions)
			answers <- answer{id, resp, err}
		}()
	}
	copies := map[model.TopicPartition][]copyOf{}
	var failed error
	for range byBroker {
		a := <-answers
		if a.err != nil {
			failed = errors.Join(failed, a.err)
			continue
		}
		for _, t := range a.resp.Topics {
			for _, p := range t.Partitions {
				tp := model.TopicPartition{Topic: cmp.Or(t.Topic, v.names[t.TopicID]), Partition: p.Partition}
				copies[tp] = append(copies[tp], copyOf{a.broker, p.HighWatermark, p.RecordBatches})
			}
		}
	}
	if failed != nil {
		// Not in a tight loop: a broker that is gone refuses at once.
		select {
		case <-ctx.Done():
		case <-time.After(v.orders.wait):
		}
	}
	return v.judge(copies)
}

// debugger is the replica id under which any replica answers, to whoever looks for differences.
const debugger = -2

// fetch asks one broker for its replicas. Topics have names up to version 12 and ids from 13 on, and the replica's id is
// in another field from 15 on: the client picks the version.
func (v *verification) fetch(ctx context.Context, id int32, partitions []assignment.Partition) (*kmsg.FetchResponse, error) {
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID, req.ReplicaState.ID = debugger, debugger
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = int32(v.orders.wait.Milliseconds()), 1, 1<<30
	for _, p := range partitions {
		if last := len(req.Topics) - 1; last < 0 || req.Topics[last].Topic != p.Topic {
			t := kmsg.NewFetchRequestTopic()
			t.Topic, t.TopicID = p.Topic, v.ids[p.Topic]
			req.Topics = append(req.Topics, t)
		}
		one := kmsg.NewFetchRequestTopicPartition()
		one.Partition, one.FetchOffset, one.PartitionMaxBytes = p.TopicPartition.Partition, v.next[p.TopicPartition], v.orders.size
		last := &req.Topics[len(req.Topics)-1]
		last.Partitions = append(last.Partitions, one)
	}
	return connection.AskNode(ctx, v.client, v.client.Broker(int(id)), "fetch", req.RequestWith)
}

// judge compares each partition of which all replicas answered.
func (v *verification) judge(copies map[model.TopicPartition][]copyOf) error {
	lag, behind := int64(-1), model.TopicPartition{}
	for _, p := range v.partitions {
		all := copies[p.TopicPartition]
		if len(all) < len(p.Replicas) {
			continue
		}
		slices.SortFunc(all, func(a, b copyOf) int { return int(a.broker - b.broker) })
		if err := v.compare(p.TopicPartition, all); err != nil {
			return err
		}
		end := slices.MaxFunc(all, func(a, b copyOf) int { return int(min(max(a.highWatermark-b.highWatermark, -1), 1)) }).highWatermark
		if d := end - v.next[p.TopicPartition]; d > lag {
			lag, behind = d, p.TopicPartition
		}
	}
	if time.Since(v.told) > v.orders.every {
		v.told = time.Now()
		v.say(line{Text: fmt.Sprintf("max lag is %d for partition %s at offset %d among %d partitions", lag, behind, v.next[behind], len(v.partitions)),
			MaxLag: &lag, Partition: behind.String()})
	}
	return nil
}

// compare goes batch by batch as far as every replica has them below its high watermark. Another offset ends the command,
// since nothing after it can be compared; another checksum is told.
func (v *verification) compare(tp model.TopicPartition, all []copyOf) error {
	for {
		var first batch.View
		for i := range all {
			c := &all[i]
			view, rest, err := batch.First(c.batches)
			if errors.Is(err, batch.ErrIncomplete) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("Error in processing replica %d in partition %s at offset %d: %w", c.broker, tp, v.next[tp], err)
			}
			if int64(view.LastOffset()) >= c.highWatermark {
				return nil
			}
			c.batches = rest
			switch {
			case i == 0:
				first = view
			case first.LastOffset() != view.LastOffset():
				v.say(line{Text: fmt.Sprintf("partition %s: replica %d's offset %d doesn't match replica %d's offset %d", tp, all[0].broker,
					first.LastOffset(), c.broker, view.LastOffset()), Partition: tp.String(), Differs: true})
				return option.Silent()
			case checksum(first) != checksum(view):
				v.say(line{Text: fmt.Sprintf("partition %s has unmatched checksum at offset %d; replica %d's checksum %d; replica %d's checksum %d", tp,
					view.LastOffset(), all[0].broker, checksum(first), c.broker, checksum(view)), Partition: tp.String(), Differs: true})
			}
		}
		v.next[tp] = int64(first.NextOffset())
	}
}

// checksum is the field of the batch; that it fits the batch's bytes was checked when they were written.
func checksum(v batch.View) uint32 { return binary.BigEndian.Uint32(v[17:]) }

// line is one of the output. In JSON the fields beside the text are for programs.
type line struct {
	Time      string `json:"time"`
	Text      string `json:"message"`
	Partition string `json:"partition,omitempty"`
	MaxLag    *int64 `json:"maxLag,omitempty"`
	Differs   bool   `json:"differs,omitempty"`
}

func (v *verification) say(l line) {
	l.Time = time.Now().Format("2006-01-02 15:04:05,000")
	if v.orders.jsonLines {
		_ = option.WriteJSON(v.streams, l) // nobody reads on
		return
	}
	fmt.Fprintf(v.streams.Out, "%s: %s\n", l.Time, l.Text)
}
