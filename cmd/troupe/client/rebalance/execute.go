package rebalance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cluster/rebalance"
	"troupe/cmd/troupe/client/assignment"
	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
	"troupe/cmd/troupe/client/progress"
	"troupe/internal/model"
)

// askEvery is how often the cluster is asked how far the moves are.
const askEvery = 500 * time.Millisecond

// execution does a plan: as many moves at once as allowed, and then the leaders.
type execution struct {
	client  *connection.Client
	streams option.Streams
	orders  *orders
	moves   []rebalance.Move
	astray  []model.TopicPartition
}

// run takes the throttle back however it ends. Moves that are under way at an interrupt go on without it.
func (e *execution) run(ctx context.Context) error {
	began := time.Now()
	var err, undone error
	if e.throttles() {
		err = e.limit(ctx)
	}
	if err == nil {
		err = e.move(ctx)
	}
	if err == nil {
		err = e.elect(ctx)
	}
	if e.throttles() {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.client.Timeout)
		defer cancel()
		undone = e.unlimit(within)
	}
	if err == nil && undone == nil {
		_, err = fmt.Fprintf(e.streams.Out, "%d partitions changed in %s.\n", len(e.moves)+len(e.astray), time.Since(began).Round(time.Millisecond))
		return err
	}
	return e.ended(ctx.Err() != nil, err, undone)
}

func (e *execution) throttles() bool { return e.orders.throttle >= 0 && len(e.moves) > 0 }

// ended says what is left to do. After an interrupt it prints that itself: the process then ends by the signal, whatever
// the error.
func (e *execution) ended(interrupted bool, err, undone error) error {
	var lines []string
	switch {
	case err != nil && interrupted:
		pace := ""
		if e.throttles() && undone == nil {
			pace = " without the throttle"
		}
		lines = append(lines, "troupe rebalance: stopped; moves that have begun go on"+pace+" (reassign-partitions --list), and the next call plans the rest")
	case err != nil:
		lines = append(lines, "troupe rebalance: "+err.Error())
	}
	if undone != nil {
		lines = append(lines, "troupe rebalance: the throttle is still set: "+undone.Error()+"; reassign-partitions --verify takes it back")
	}
	text := strings.Join(lines, "\n")
	if !interrupted {
		return option.Fail("%s", text)
	}
	fmt.Fprintln(e.streams.Err, text)
	return option.Silent()
}

// move keeps the number of moves that are under way at the limit until all are done.
func (e *execution) move(ctx context.Context) error {
	line := progress.On(e.streams.Err, e.streams.Out, false)
	defer line.Clear()
	again := time.NewTicker(askEvery)
	defer again.Stop()
	for begun := 0; ; {
		ongoing, err := assignment.Ongoing(ctx, e.client)
		if err != nil {
			return err
		}
		if more := min(e.orders.together-len(ongoing), len(e.moves)-begun); more > 0 {
			failed, err := assignment.Alter(ctx, e.client, targets(e.moves[begun:begun+more]), true)
			if err != nil {
				return err
			}
			for _, tp := range slices.SortedFunc(maps.Keys(failed), assignment.Compare) {
				return fmt.Errorf("%s: %w", tp, failed[tp])
			}
			begun += more
			continue // those that move no data are done already
		}
		if begun == len(e.moves) && len(ongoing) == 0 {
			return nil
		}
		line.Show("%d of %d partitions moved, %d under way", begun-len(ongoing), len(e.moves), len(ongoing))
		select {
		case <-again.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// elect gives the partitions to their preferred leaders. One that cannot take over yet gets it later by leader-election.
func (e *execution) elect(ctx context.Context) error {
	req := kmsg.NewPtrElectLeadersRequest()
	req.TimeoutMillis = int32(e.client.Timeout.Milliseconds())
	req.Topics = []kmsg.ElectLeadersRequestTopic{}
	all := slices.Clone(e.astray)
	for _, m := range e.moves {
		all = append(all, m.TopicPartition)
	}
	slices.SortFunc(all, assignment.Compare)
	for _, tp := range all {
		if last := len(req.Topics) - 1; last < 0 || req.Topics[last].Topic != tp.Topic {
			topic := kmsg.NewElectLeadersRequestTopic()
			topic.Topic = tp.Topic
			req.Topics = append(req.Topics, topic)
		}
		last := &req.Topics[len(req.Topics)-1]
		last.Partitions = append(last.Partitions, tp.Partition)
	}
	resp, err := connection.Ask(ctx, e.client, "electLeaders", req.RequestWith)
	if err == nil {
		err = kafkatext.Answer(resp.ErrorCode, nil)
	}
	if err != nil {
		return err
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode != 0 && p.ErrorCode != kerr.ElectionNotNeeded.Code {
				fmt.Fprintf(e.streams.Err, "%s-%d keeps its leader: %s\n", t.Topic, p.Partition, kafkatext.Answer(p.ErrorCode, p.ErrorMessage))
			}
		}
	}
	return nil
}

// limit throttles what the plan copies: the replicas that there are as sources, those that come as destinations.
func (e *execution) limit(ctx context.Context) error {
	var topics []assignment.Throttled
	var brokers []int32
	for _, m := range e.moves {
		if len(topics) == 0 || topics[len(topics)-1].Topic != m.Topic {
			topics = append(topics, assignment.Throttled{Topic: m.Topic})
		}
		last := &topics[len(topics)-1]
		last.Leaders = listed(last.Leaders, m.Partition, numbers(m.From))
		last.Followers = listed(last.Followers, m.Partition, numbers(m.Added()))
		brokers = slices.Concat(brokers, numbers(m.From), numbers(m.To))
	}
	slices.SortFunc(brokers, cmp.Compare[int32])
	if err := assignment.LimitReplicas(ctx, e.client, topics); err != nil {
		return err
	}
	return assignment.LimitBrokers(ctx, e.client, slices.Compact(brokers), e.orders.throttle)
}

// listed adds PARTITION:BROKER elements to a list.
func listed(list string, partition int32, brokers []int32) string {
	var elements []string
	if list != "" {
		elements = append(elements, list)
	}
	for _, id := range brokers {
		elements = append(elements, fmt.Sprintf("%d:%d", partition, id))
	}
	return strings.Join(elements, ",")
}

func (e *execution) unlimit(ctx context.Context) error {
	found, err := assignment.Read(ctx, e.client, []string{})
	if err != nil {
		return err
	}
	var brokers []int32
	for _, b := range found.Brokers {
		brokers = append(brokers, b.ID)
	}
	topics := map[string]bool{}
	for _, m := range e.moves {
		topics[m.Topic] = true
	}
	away, err := assignment.UnlimitReachable(ctx, e.client, brokers)
	if len(away) > 0 {
		err = fmt.Errorf("the brokers %d cannot be reached: throttles that are set there stay", away)
	}
	return errors.Join(assignment.UnlimitReplicas(ctx, e.client, slices.Sorted(maps.Keys(topics))), err)
}
