package assignment

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
)

// The keys of throttles: rates of a broker in bytes a second, and the replicas of a topic that they hold for.
const (
	leaderRate       = "leader.replication.throttled.rate"
	followerRate     = "follower.replication.throttled.rate"
	directoryRate    = "replica.alter.log.dirs.io.max.bytes.per.second"
	leaderReplicas   = "leader.replication.throttled.replicas"
	followerReplicas = "follower.replication.throttled.replicas"
)

// setting is one key of one resource; a nil value takes it back.
type setting struct {
	kind  kmsg.ConfigResourceType
	name  string
	key   string
	value *string
}

// LimitBrokers sets how fast each of the brokers sends and receives throttled replicas.
func LimitBrokers(ctx context.Context, client *connection.Client, brokers []int32, bytesPerSec int64) error {
	rate := strconv.FormatInt(bytesPerSec, 10)
	return alter(ctx, client, each(brokers, &rate, leaderRate, followerRate))
}

// LimitDirectories sets how fast each of the brokers copies between its own log directories.
func LimitDirectories(ctx context.Context, client *connection.Client, brokers []int32, bytesPerSec int64) error {
	rate := strconv.FormatInt(bytesPerSec, 10)
	return alter(ctx, client, each(brokers, &rate, directoryRate))
}

// lookAgain is the pause before a broker is tried again that has not answered.
const lookAgain = 100 * time.Millisecond

// UnlimitReachable takes all rates of those of the brokers back that the cluster has, and gives those that it has not: kgo would
// look for one that has just gone until the time of the call is over.
func UnlimitReachable(ctx context.Context, client *connection.Client, brokers []int32) (away []int32, err error) {
	for _, id := range brokers {
		there := true
		send := func(ctx context.Context, _ kmsg.Requestor) (*kmsg.IncrementalAlterConfigsResponse, error) {
			for {
				found, err := Read(ctx, client, []string{})
				if err != nil {
					return nil, err
				}
				if there = slices.ContainsFunc(found.Brokers, func(b Broker) bool { return b.ID == id }); !there {
					return &kmsg.IncrementalAlterConfigsResponse{}, nil
				}
				resp, err := client.Broker(int(id)).Request(ctx, alteration(each([]int32{id}, nil, leaderRate, followerRate, directoryRate)))
				if err == nil {
					return resp.(*kmsg.IncrementalAlterConfigsResponse), nil
				}
				select {
				case <-ctx.Done():
					return nil, err
				case <-time.After(lookAgain):
				}
			}
		}
		if err := altered(ctx, client, send); err != nil {
			return nil, err
		}
		if !there {
			away = append(away, id)
		}
	}
	return away, nil
}

func each(brokers []int32, value *string, keys ...string) []setting {
	var all []setting
	for _, id := range brokers {
		for _, key := range keys {
			all = append(all, setting{kmsg.ConfigResourceTypeBroker, strconv.Itoa(int(id)), key, value})
		}
	}
	return all
}

// Throttled are the replicas of a topic that the rates hold for, as lists of PARTITION:BROKER.
type Throttled struct{ Topic, Leaders, Followers string }

// LimitReplicas says which replicas the rates hold for.
func LimitReplicas(ctx context.Context, client *connection.Client, topics []Throttled) error {
	var all []setting
	for _, t := range topics {
		all = append(all, setting{kmsg.ConfigResourceTypeTopic, t.Topic, leaderReplicas, &t.Leaders},
			setting{kmsg.ConfigResourceTypeTopic, t.Topic, followerReplicas, &t.Followers})
	}
	return alter(ctx, client, all)
}

// UnlimitReplicas takes the lists of topics back.
func UnlimitReplicas(ctx context.Context, client *connection.Client, topics []string) error {
	var all []setting
	for _, name := range topics {
		all = append(all, setting{kmsg.ConfigResourceTypeTopic, name, leaderReplicas, nil},
			setting{kmsg.ConfigResourceTypeTopic, name, followerReplicas, nil})
	}
	return alter(ctx, client, all)
}

// alter sends the settings, those of one resource together; the first that is refused is the error.
func alter(ctx context.Context, client *connection.Client, all []setting) error {
	if len(all) == 0 {
		return nil
	}
	return altered(ctx, client, alteration(all).RequestWith)
}

func alteration(all []setting) *kmsg.IncrementalAlterConfigsRequest {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	for _, s := range all {
		config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		config.Name, config.Value, config.Op = s.key, s.value, kmsg.IncrementalAlterConfigOpSet
		if s.value == nil {
			config.Op = kmsg.IncrementalAlterConfigOpDelete
		}
		last := len(req.Resources) - 1
		if last < 0 || req.Resources[last].ResourceName != s.name || req.Resources[last].ResourceType != s.kind {
			r := kmsg.NewIncrementalAlterConfigsRequestResource()
			r.ResourceType, r.ResourceName = s.kind, s.name
			req.Resources = append(req.Resources, r)
			last++
		}
		req.Resources[last].Configs = append(req.Resources[last].Configs, config)
	}
	return req
}

func altered(ctx context.Context, client *connection.Client, send func(context.Context, kmsg.Requestor) (*kmsg.IncrementalAlterConfigsResponse, error)) error {
	resp, err := connection.Ask(ctx, client, "incrementalAlterConfigs", send)
	if err != nil {
		return err
	}
	for _, r := range resp.Resources {
		if err := kafkatext.Answer(r.ErrorCode, r.ErrorMessage); err != nil {
			return err
		}
	}
	return nil
}
