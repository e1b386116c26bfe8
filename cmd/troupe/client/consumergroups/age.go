package consumergroups

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/codec/batch"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// lagSeconds is the option, which the script does not have, that asks for how old what waits is. A number of records says
// little by itself: a hundred thousand may be a second's worth, and ten a day's.
const lagSeconds = "lag-seconds"

// agedRow is a row with the age of the oldest record that the group has not read: nil when it cannot be told, 0 when
// nothing is left.
type agedRow struct {
	row
	Seconds *float64 `json:"lagSeconds"`
}

// text is what the column shows.
func (r agedRow) text() string {
	if r.Seconds == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f", *r.Seconds)
}

// aged adds ages to rows, as of now. Any broker can tell: the record that a consumer would read next is fetched.
func (c *command) aged(ctx context.Context, rows []row, now time.Time) ([]agedRow, error) {
	s := search{
		command: c, from: map[model.TopicPartition]int64{}, ends: map[model.TopicPartition]int64{}, found: map[model.TopicPartition]int64{},
	}
	for _, r := range rows {
		if r.Lag != nil && *r.Lag > 0 {
			tp := model.TopicPartition{Topic: r.Topic, Partition: r.Partition}
			s.from[tp], s.ends[tp] = *r.Offset, *r.End
		}
	}
	if err := s.run(ctx, now); err != nil {
		return nil, err
	}
	out := make([]agedRow, len(rows))
	for i, r := range rows {
		out[i].row = r
		if r.Lag != nil && *r.Lag <= 0 {
			out[i].Seconds = new(float64)
		}
		if ms, late := s.found[model.TopicPartition{Topic: r.Topic, Partition: r.Partition}]; late && ms != batch.NoTimestamp {
			// A producer's clock may be ahead.
			age := max(0, now.Sub(time.UnixMilli(ms)).Seconds())
			out[i].Seconds = &age
		}
	}
	return out, nil
}

// search looks for the first record at or after an offset of each partition.
type search struct {
	*command
	from  map[model.TopicPartition]int64 // what is not found yet
	ends  map[model.TopicPartition]int64 // of the logs
	found map[model.TopicPartition]int64 // timestamps
	// Topics go by their ids from version 13 of Fetch on, and by their names before.
	ids   map[string][16]byte
	names map[[16]byte]string
	// early are partitions whose log begins after the offset.
	early []model.TopicPartition
}

// run asks the leaders again as long as that brings something: a broker gives the first partition of a request a whole batch,
// and the others what has room.
func (s *search) run(ctx context.Context, now time.Time) error {
	for len(s.from) > 0 {
		before := maps.Clone(s.from)
		if err := s.ask(ctx); err != nil {
			return err
		}
		if err := s.skip(ctx, now); err != nil {
			return err
		}
		if maps.Equal(before, s.from) {
			return nil
		}
	}
	return nil
}

func (s *search) ask(ctx context.Context) error {
	topics, err := s.topics(ctx, topicsOf(slices.Collect(maps.Keys(s.from))))
	if err != nil {
		return err
	}
	s.ids, s.names = map[string][16]byte{}, map[[16]byte]string{}
	byLeader := map[int32][]model.TopicPartition{}
	for _, t := range topics {
		if t.Topic == nil {
			continue
		}
		s.ids[*t.Topic], s.names[t.TopicID] = t.TopicID, *t.Topic
		for _, p := range t.Partitions {
			tp := model.TopicPartition{Topic: *t.Topic, Partition: p.Partition}
			if _, wanted := s.from[tp]; wanted && p.Leader >= 0 {
				byLeader[p.Leader] = append(byLeader[p.Leader], tp)
			}
		}
	}
	// One request a broker. Those without a leader stay unanswered, as in the other columns.
	for _, leader := range slices.Sorted(maps.Keys(byLeader)) {
		req := s.request(byLeader[leader])
		resp, err := connection.AskNode(ctx, s.client, s.client.Broker(int(leader)), "fetch", req.RequestWith)
		if err != nil {
			return err
		}
		s.take(resp)
	}
	return nil
}

// mostBytes of a partition are asked for: all that matters is the first batch.
const mostBytes = 64 << 10

func (s *search) request(partitions []model.TopicPartition) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	// There are records behind every offset, so nothing waits unless they go in this moment.
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = 500, 1, 32<<20
	for topic, numbers := range byTopic(partitions) {
		t := kmsg.NewFetchRequestTopic()
		t.Topic, t.TopicID = topic, s.ids[topic] // which of the two is sent depends on the version
		for _, n := range numbers {
			p := kmsg.NewFetchRequestTopicPartition()
			p.Partition, p.FetchOffset = n, s.from[model.TopicPartition{Topic: topic, Partition: n}]
			p.PartitionMaxBytes = mostBytes
			t.Partitions = append(t.Partitions, p)
		}
		req.Topics = append(req.Topics, t)
	}
	return req
}

// take reads the answers. A partition that fails, but for an offset that is gone, is left without an age.
func (s *search) take(resp *kmsg.FetchResponse) {
	for _, t := range resp.Topics {
		topic := t.Topic
		if resp.Version >= 13 {
			topic = s.names[t.TopicID]
		}
		for i := range t.Partitions {
			p := &t.Partitions[i]
			tp := model.TopicPartition{Topic: topic, Partition: p.Partition}
			at, wanted := s.from[tp]
			switch {
			case !wanted:
			case kerr.Code(p.ErrorCode) == kerr.OffsetOutOfRange:
				s.early = append(s.early, tp)
			case p.ErrorCode != 0:
				delete(s.from, tp)
			default:
				s.read(tp, at, p.RecordBatches)
			}
		}
	}
}

// errFound ends a walk over records.
var errFound = errors.New("the record is found")

// read looks for the record. Compaction may have taken all that a batch had from the offset on.
func (s *search) read(tp model.TopicPartition, at int64, batches []byte) {
	for len(batches) > 0 {
		v, rest, err := batch.First(batches)
		if err != nil { // cut off by the limit of bytes, or of a format before the present one
			return
		}
		err = v.Each(func(r batch.Record) error {
			if int64(r.Offset) < at {
				return nil
			}
			s.found[tp] = r.Timestamp
			return errFound
		})
		if err != nil {
			delete(s.from, tp)
			return
		}
		batches = rest
		s.from[tp] = max(at, int64(v.NextOffset()))
	}
}

// skip goes on at the log's start where retention took the record.
func (s *search) skip(ctx context.Context, now time.Time) error {
	// A leader that has no start to tell, since it has just lost the partition, has no age to tell either.
	starts, err := s.offsetsAt(ctx, s.early, earliest)
	if err != nil {
		return err
	}
	for _, tp := range s.early {
		if start := starts[tp]; start.err != nil || start.offset <= s.from[tp] {
			delete(s.from, tp) // it is beyond the end
		} else if start.offset >= s.ends[tp] {
			delete(s.from, tp) // retention took all that was not read: nothing keeps waiting
			s.found[tp] = now.UnixMilli()
		} else {
			s.from[tp] = start.offset
		}
	}
	s.early = nil
	return nil
}
