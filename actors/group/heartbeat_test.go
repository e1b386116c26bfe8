package group

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/internal/model"
)

// consumerOptions are Kafka's defaults but for what scenarios would wait too long for, or could not reach.
var consumerOptions = ConsumerOptions{
	Session:        Bounded{45 * time.Second, 45 * time.Second, 60 * time.Second},
	Heartbeat:      Bounded{5 * time.Second, 5 * time.Second, 15 * time.Second},
	Interval:       Bounded{time.Second, 0, 15 * time.Second},
	PatternRefresh: 10 * time.Minute, MembersMax: 4, Assignors: []string{"uniform", "range"}, Upgrade: true, Downgrade: true,
}

// heartbeat reads the short form of a ConsumerGroupHeartbeat of version 1. The member's id is the client's name.
//
//	A: join GROUP [topics=t,u] [regex=R] [instance=I] [rack=R] [assignor=N] [timeout=MS]
//	A: beat GROUP EPOCH [has=t:0,u:1 | has=none] [topics=…] …
//	A: leave GROUP EPOCH [instance=I]
func heartbeat(t *testing.T, client, line string) (*kmsg.ConsumerGroupHeartbeatRequest, bool) {
	words := strings.Fields(line)
	r := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	r.Version, r.MemberID, r.RebalanceTimeoutMillis = 1, client, -1
	switch words[0] {
	case "join":
		r.RebalanceTimeoutMillis, r.Topics, r.SubscribedTopicNames = 60_000, []kmsg.ConsumerGroupHeartbeatRequestTopic{}, []string{}
		words = append([]string{"beat", words[1], "0"}, words[2:]...)
	case "beat", "leave":
	default:
		return nil, false
	}
	epoch, err := strconv.Atoi(words[2])
	if err != nil {
		t.Fatal(err)
	}
	r.Group, r.MemberEpoch = words[1], int32(epoch)
	for _, word := range words[3:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "topics":
			r.SubscribedTopicNames = strings.Split(value, ",")
		case "regex":
			r.SubscribedTopicRegex = &value
		case "instance":
			r.InstanceID = &value
		case "rack":
			r.RackID = &value
		case "assignor":
			r.ServerAssignor = &value
		case "timeout":
			ms, err := strconv.Atoi(value)
			if err != nil {
				t.Fatal(err)
			}
			r.RebalanceTimeoutMillis = int32(ms)
		case "has":
			r.Topics = ownedTopics(t, value)
		default:
			t.Fatalf("unknown %s", word)
		}
	}
	return r, true
}

func ownedTopics(t *testing.T, text string) []kmsg.ConsumerGroupHeartbeatRequestTopic {
	topics := []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	if text == "none" {
		return topics
	}
	for _, each := range strings.Split(text, ",") {
		name, number, _ := strings.Cut(each, ":")
		n, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		one := kmsg.NewConsumerGroupHeartbeatRequestTopic()
		one.TopicID, one.Partitions = idOf(name), []int32{int32(n)}
		topics = append(topics, one)
	}
	return topics
}

// idOf is the id that metadata.topic gives a topic.
func idOf(name string) (id model.TopicID) {
	copy(id[:], name)
	return id
}
