package leaderelection

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
	"troupe/internal/model"
)

// kind is a type of election, by its number on the wire.
type kind int8

const (
	preferred kind = 0
	unclean   kind = 1
)

// String gives the name that the script prints.
func (k kind) String() string {
	if k == unclean {
		return "UNCLEAN"
	}
	return "PREFERRED"
}

// kindOf reads a name in any case.
func kindOf(text string) (kind, error) {
	for _, k := range []kind{preferred, unclean} {
		if strings.EqualFold(text, k.String()) {
			return k, nil
		}
	}
	return 0, option.Fail("Cannot parse argument '%s' of option election-type", text)
}

// outcome is what became of the partitions, and -o json. A partition that needed no election is no failure: the script is
// called for whole clusters, in which most partitions are led as they should be.
type outcome struct {
	Type      string    `json:"electionType"`
	Elected   []string  `json:"elected"`
	NotNeeded []string  `json:"notNeeded"`
	Failed    []failure `json:"failed"`
}

type failure struct {
	Partition string `json:"partition"`
	Error     string `json:"error"`
}

func (p *plan) run(ctx context.Context, s option.Streams, json bool) error {
	answer, err := p.elect(ctx)
	if err == nil {
		err = kafkatext.Answer(answer.ErrorCode, nil)
	}
	if err != nil {
		return refused(ctx, s, err)
	}
	o := p.sort(answer)
	if json {
		if err := option.WriteJSON(s, o); err != nil {
			return err
		}
	} else {
		o.print(s)
	}
	if len(o.Failed) > 0 {
		return option.Fail("%d replica(s) could not be elected", len(o.Failed))
	}
	return nil
}

// elect sends the request. Without topics it is for all partitions, and the controller then leaves those out of its answer
// that need no election; an empty list is for none. Partitions of one topic go under one name, in the order given.
func (p *plan) elect(ctx context.Context) (*kmsg.ElectLeadersResponse, error) {
	req := kmsg.NewPtrElectLeadersRequest()
	req.ElectionType = int8(p.kind)
	req.TimeoutMillis = int32(p.client.Timeout.Milliseconds())
	if !p.all {
		req.Topics = []kmsg.ElectLeadersRequestTopic{}
	}
	at := map[string]int{} // where a topic stands in the request
	for _, tp := range p.partitions {
		i, known := at[tp.Topic]
		if !known {
			i = len(req.Topics)
			at[tp.Topic] = i
			topic := kmsg.NewElectLeadersRequestTopic()
			topic.Topic = tp.Topic
			req.Topics = append(req.Topics, topic)
		}
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, tp.Partition)
	}
	return connection.Ask(ctx, p.client, "electLeaders", req.RequestWith)
}

// refused says a failure of the whole call: twice, on both outputs, where the script has words of its own for it.
func refused(ctx context.Context, s option.Streams, err error) error {
	var told *kafkatext.Failure
	text := "Timeout waiting for election results"
	switch known := errors.As(err, &told); {
	case ctx.Err() != nil:
		return option.Silent()
	case known && told.Code == kerr.ClusterAuthorizationFailed.Code:
		text = "Not authorized to perform leader election"
	// Any other refusal ends the script with an exception of its client's future.
	case known && told.Code != kerr.RequestTimedOut.Code:
		return option.Fail("java.util.concurrent.ExecutionException: %s", told.Qualified())
	}
	fmt.Fprintln(s.Out, text)
	return option.Fail("%s", text)
}

// sort tells the three kinds of outcome apart, each in the order of the script's hash tables.
func (p *plan) sort(answer *kmsg.ElectLeadersResponse) outcome {
	told := map[model.TopicPartition]error{}
	var all []model.TopicPartition
	for _, topic := range answer.Topics {
		for _, partition := range topic.Partitions {
			tp := model.TopicPartition{Topic: topic.Topic, Partition: partition.Partition}
			all = append(all, tp)
			told[tp] = kafkatext.Answer(partition.ErrorCode, partition.ErrorMessage)
		}
	}
	// Lists that are empty are empty lists in JSON, not null.
	o := outcome{Type: p.kind.String(), Elected: []string{}, NotNeeded: []string{}, Failed: []failure{}}
	for _, tp := range kafkatext.HashOrderPartitions(all) {
		var bad *kafkatext.Failure
		switch {
		case !errors.As(told[tp], &bad):
			o.Elected = append(o.Elected, tp.String())
		case bad.Code == kerr.ElectionNotNeeded.Code:
			o.NotNeeded = append(o.NotNeeded, tp.String())
		default:
			o.Failed = append(o.Failed, failure{tp.String(), bad.Qualified()})
		}
	}
	return o
}

// print writes a line for each kind that there is, and one for each failure.
func (o outcome) print(s option.Streams) {
	if len(o.Elected) > 0 {
		fmt.Fprintf(s.Out, "Successfully completed leader election (%s) for partitions %s\n", o.Type, strings.Join(o.Elected, ", "))
	}
	if len(o.NotNeeded) > 0 {
		fmt.Fprintf(s.Out, "Valid replica already elected for partitions %s\n", strings.Join(o.NotNeeded, ", "))
	}
	for _, f := range o.Failed {
		fmt.Fprintf(s.Out, "Error completing leader election (%s) for partition: %s: %s\n", o.Type, f.Partition, f.Error)
	}
}
