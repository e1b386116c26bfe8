package api

import (
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/controller"
	"troupe/codec/kerr"
	"troupe/configs"
)

// rootLogger is the logger of everything; its level is set by log.level.
const rootLogger = "root"

// checkTopicName judges a name that a request asks about. The metadata log's is a name like any other there.
func checkTopicName(name string) error {
	err := controller.CheckTopicName(name)
	if code, _ := kerr.Of(err); code != kerr.InvalidTopicException {
		return nil
	}
	return err
}

// mayConfigure asks the authorizer for a resource whose configuration is read or changed: topics and groups by name, all
// else as a matter of the cluster (KIP-133).
func (n *Node) mayConfigure(r *Request, kind kmsg.ConfigResourceType, name string, op Operation) error {
	on, code := OnCluster, kerr.ClusterAuthorizationFailed
	switch kind {
	case kmsg.ConfigResourceTypeTopic:
		on, code = OnTopic, kerr.TopicAuthorizationFailed
	case kmsg.ConfigResourceTypeGroupConfig:
		on, code = OnGroup, kerr.GroupAuthorizationFailed
	default:
		name = ""
	}
	if !n.Authorizer.Allowed(r.Client, op, on, name) {
		return code
	}
	return nil
}

// alteration is one resource of AlterConfigs or IncrementalAlterConfigs, as far as this broker judges it.
type alteration struct {
	kind  kmsg.ConfigResourceType
	name  string
	nulls []string // keys that are given no value and need one
	again bool     // named more than once in the request
	// changes are those of a broker.
	changes []configs.Change
}

// markRepeated finds the resources that a request names more than once.
func markRepeated(all []alteration) {
	type resource struct {
		kind kmsg.ConfigResourceType
		name string
	}
	times := make(map[resource]int, len(all))
	for _, a := range all {
		times[resource{a.kind, a.name}]++
	}
	for i := range all {
		all[i].again = times[resource{all[i].kind, all[i].name}] > 1
	}
}

// refuse is what the broker answers without the controller, in Kafka's order and words: a broker's configuration is
// changed by asking that very broker.
func (n *Node) refuse(r *Request, a *alteration) error {
	if a.again {
		return &kerr.Error{Code: kerr.InvalidRequest, Detail: "Each resource must appear at most once."}
	}
	if len(a.nulls) > 0 {
		return &kerr.Error{Code: kerr.InvalidRequest, Detail: "Null value not supported for : " + a.nulls[0]}
	}
	switch a.kind {
	case kmsg.ConfigResourceTypeBroker:
		// Without a name it is the default of all brokers, which any of them passes on.
		if a.name != "" {
			if err := n.alterable(a.name); err != nil {
				return err
			}
		}
	case kmsg.ConfigResourceTypeTopic:
		if a.name == "" {
			return &kerr.Error{Code: kerr.InvalidRequest, Detail: "Default topic resources are not allowed."}
		}
		if err := checkTopicName(a.name); err != nil {
			return err
		}
	case kmsg.ConfigResourceTypeClientMetrics:
		if a.name == "" {
			return &kerr.Error{Code: kerr.InvalidRequest, Detail: "Subscription name can't be empty"}
		}
	case kmsg.ConfigResourceTypeGroupConfig:
		if a.name == "" {
			return &kerr.Error{Code: kerr.InvalidRequest, Detail: "Default group resources are not allowed."}
		}
	default:
		return &kerr.Error{Code: kerr.InvalidRequest, Detail: "Unknown resource type " + strconv.Itoa(int(a.kind))}
	}
	if err := n.mayConfigure(r, a.kind, a.name, AlterConfigsOp); err != nil {
		return err
	}
	return n.Layers().CheckCordon(a.changes)
}

// alterable is ownID in the words of alterations, which differ in Kafka.
func (n *Node) alterable(name string) error {
	id, err := strconv.ParseInt(name, 10, 32)
	switch {
	case err != nil:
		return &kerr.Error{Code: kerr.InvalidRequest, Detail: "Node id must be an integer, but it is: " + name}
	case id != int64(n.ID):
		return &kerr.Error{Code: kerr.InvalidRequest, Detail: "Unexpected broker id, expected " + strconv.Itoa(int(n.ID)) + ", but received " + name}
	}
	return nil
}

// errorMessage is the text beside a code in replies that have a place for it; null beside success.
func errorMessage(err error) *string {
	code, message := kerr.Of(err)
	if code == kerr.None {
		return nil
	}
	if message == "" {
		message = code.Error()
	}
	return &message
}
