package verifiableproducer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
)

// topicInterval is how often a topic that has no leaders yet is asked for.
const topicInterval = 100 * time.Millisecond

// awaitTopic asks for the topic, which makes it where brokers may make topics, until all its partitions have leaders. The
// client itself counts such attempts as retries, of which it has none. What does not come right here is told by the
// first record.
func (w *producer) awaitTopic(ctx context.Context, blockFor time.Duration) {
	within, cancel := context.WithTimeout(ctx, blockFor)
	defer cancel()
	req := kmsg.NewPtrMetadataRequest()
	req.AllowAutoTopicCreation = true // as the producer itself asks
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = &w.topic
	req.Topics = append(req.Topics, topic)
	again := time.NewTicker(topicInterval)
	defer again.Stop()
	for {
		answer, err := connection.Ask(within, w.client, "metadata", req.RequestWith)
		if err != nil || within.Err() != nil || settled(answer) {
			return
		}
		select {
		case <-again.C:
		case <-within.Done():
		}
	}
}

// settled tells whether asking again would bring nothing else: the topic is there, or the error will not pass.
func settled(answer *kmsg.MetadataResponse) bool {
	for _, topic := range answer.Topics {
		// LEADER_NOT_AVAILABLE is what a broker answers that has just made the topic.
		if topic.ErrorCode != 0 {
			return !kerr.IsRetriable(kerr.ErrorForCode(topic.ErrorCode))
		}
		for _, partition := range topic.Partitions {
			if kerr.IsRetriable(kerr.ErrorForCode(partition.ErrorCode)) {
				return false
			}
		}
	}
	return true
}

const timeout = "org.apache.kafka.common.errors.TimeoutException"

// explain gives the Java client's exception for an error of kgo's producer, and its message.
func (w *producer) explain(err error) (class, message string) {
	var known *kerr.Error
	switch {
	case errors.As(err, &known) && known == kerr.InvalidTopicException:
		message = "Invalid topics: [" + w.topic + "]"
	case errors.As(err, &known) && known == kerr.UnknownTopicOrPartition:
		return timeout, fmt.Sprintf("Topic %s not present in metadata after %s ms.", w.topic, blockText(w.props))
	case errors.As(err, &known):
	case errors.Is(err, kgo.ErrRecordTimeout), connection.Unreachable(err):
		return timeout, err.Error()
	default: // the connection broke; nobody knows whether the record arrived
		return "org.apache.kafka.common.errors.NetworkException", err.Error()
	}
	failure, ok := kafkatext.Answer(known.Code, &message).(*kafkatext.Failure)
	if !ok {
		return "java.lang.IllegalStateException", err.Error()
	}
	return failure.QualifiedClass(), failure.Text
}

// blockText is max.block.ms as the message shows it, which is how it was written.
func blockText(props kafkatext.Properties) string {
	if text := props["max.block.ms"]; text != "" {
		return text
	}
	return "60000"
}
