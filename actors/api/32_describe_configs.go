package api

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cluster/image"
	"troupe/codec/kerr"
	"troupe/configs"
)

// DescribeConfigs (key 32), versions 1-4. A barrier on its connection, so that it tells what an alteration before it did.
//
// Errors a resource: 3 UNKNOWN_TOPIC_OR_PARTITION, 17 INVALID_TOPIC_EXCEPTION, 29 TOPIC_AUTHORIZATION_FAILED, 30
// GROUP_AUTHORIZATION_FAILED, 31 CLUSTER_AUTHORIZATION_FAILED, 42 INVALID_REQUEST for another broker's configuration
// or a missing name. One unknown kind of resource fails the whole request with 42 (measured on Kafka 4.3.1).
var describeConfigs = &Handler{
	Key: 32, Name: "DescribeConfigs", Min: 1, Max: 4, On: OnBroker | OnController,
	Access: Access{DescribeConfigs, OnCluster},
	Handle: handleDescribeConfigs,
}

// handleDescribeConfigs answers from this broker's image and static configuration alone: tools ask a broker about itself,
// and any broker about topics. The message is empty beside success, as Kafka's is.
func handleDescribeConfigs(n *Node, r *Request) {
	req := r.Body.(*kmsg.DescribeConfigsRequest)
	resp := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
	unknown := slices.ContainsFunc(req.Resources, func(a kmsg.DescribeConfigsRequestResource) bool { return !describable(a.ResourceType) })
	for i := range req.Resources {
		asked := &req.Resources[i]
		res := kmsg.NewDescribeConfigsResponseResource()
		res.ResourceType, res.ResourceName = asked.ResourceType, asked.ResourceName
		entries, err := []configs.Entry(nil), unknownKind(asked.ResourceType)
		if !unknown {
			entries, err = n.describe(r, asked)
		}
		code, message := kerr.Of(err)
		res.ErrorCode, res.ErrorMessage = int16(code), &message
		for _, e := range entries {
			res.Configs = append(res.Configs, describedConfig(req, &e))
		}
		resp.Resources = append(resp.Resources, res)
	}
	r.Reply(resp)
}

// describable lists the kinds of KIP-133, KIP-412, KIP-714 and KIP-848.
func describable(kind kmsg.ConfigResourceType) bool {
	switch kind {
	case kmsg.ConfigResourceTypeTopic, kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeBrokerLogger,
		kmsg.ConfigResourceTypeClientMetrics, kmsg.ConfigResourceTypeGroupConfig:
		return true
	}
	return false
}

// unknownKind is said to each resource of a request that names a kind nobody knows, also to the good ones.
func unknownKind(kind kmsg.ConfigResourceType) error {
	if describable(kind) {
		return kerr.InvalidRequest
	}
	return &kerr.Error{Code: kerr.InvalidRequest, Detail: "Unexpected resource type " + strconv.Itoa(int(kind))}
}

// describe lists the configuration of one resource.
func (n *Node) describe(r *Request, asked *kmsg.DescribeConfigsRequestResource) ([]configs.Entry, error) {
	if err := n.mayConfigure(r, asked.ResourceType, asked.ResourceName, DescribeConfigs); err != nil {
		return nil, err
	}
	switch name := asked.ResourceName; asked.ResourceType {
	case kmsg.ConfigResourceTypeTopic:
		return n.describeTopic(name, asked.ConfigNames)
	case kmsg.ConfigResourceTypeBroker:
		if name == "" {
			return n.Layers().DescribeDefaults(asked.ConfigNames), nil
		}
		if err := n.ownID(name, "or empty string, "); err != nil {
			return nil, err
		}
		return n.Layers().DescribeBroker(asked.ConfigNames)
	case kmsg.ConfigResourceTypeBrokerLogger:
		if name == "" {
			return nil, &kerr.Error{Code: kerr.InvalidRequest, Detail: "Broker id must not be empty"}
		}
		if err := n.ownID(name, ""); err != nil {
			return nil, err
		}
		return n.loggers(), nil
	case kmsg.ConfigResourceTypeClientMetrics:
		return n.describeResource(configs.ClientMetrics, image.ClientMetricsResource, asked, "Client metrics subscription name must not be empty")
	default:
		return n.describeResource(configs.Group, image.GroupResource, asked, "Group name must not be empty")
	}
}

// describeTopic judges the name first: an impossible one is not merely unknown.
func (n *Node) describeTopic(name string, keys []string) ([]configs.Entry, error) {
	if err := checkTopicName(name); err != nil {
		return nil, err
	}
	if _, there := n.Image().Topic(name); !there {
		return nil, kerr.UnknownTopicOrPartition
	}
	return n.Layers().DescribeTopic(n.stored(image.TopicResource, name), keys)
}

// describeResource lists a group's or subscription's configuration. Any name is one: what nobody has set is default.
func (n *Node) describeResource(kind configs.Resource, of image.ResourceType, asked *kmsg.DescribeConfigsRequestResource, nameless string) ([]configs.Entry, error) {
	if asked.ResourceName == "" {
		return nil, &kerr.Error{Code: kerr.InvalidRequest, Detail: nameless}
	}
	return kind.Describe(n.stored(of, asked.ResourceName), asked.ConfigNames)
}

func (n *Node) stored(of image.ResourceType, name string) map[string]string {
	return maps.Collect(n.Image().Config(image.ConfigResource{Type: of, Name: name}).All())
}

// ownID refuses the name of a broker that is not this one: its static configuration is known there alone. The texts
// are Kafka's, which tools print.
func (n *Node) ownID(name, or string) error {
	id, err := strconv.ParseInt(name, 10, 32)
	own := strconv.Itoa(int(n.ID))
	switch {
	case err != nil:
		return &kerr.Error{Code: kerr.InvalidRequest, Detail: "Broker id must be an integer, but it is: " + name}
	case id != int64(n.ID) && or != "":
		return &kerr.Error{Code: kerr.InvalidRequest, Detail: "Unexpected broker id, expected " + own + " " + or + "but received " + name}
	case id != int64(n.ID):
		return &kerr.Error{Code: kerr.InvalidRequest, Detail: "Unexpected broker id, expected " + own + " but received " + name}
	}
	return nil
}

// loggerSource is where DescribeConfigs says that a logger's level comes from.
const loggerSource = configs.Source(kmsg.ConfigSourceDynamicBrokerLoggerConfig)

// loggers is the one logger that there is. Kafka lists Log4j's, by class; tools print whatever comes.
func (n *Node) loggers() []configs.Entry {
	level := strings.ToUpper(n.Config.Output.Level)
	return []configs.Entry{{Name: rootLogger, Value: &level, Source: loggerSource, ReadOnly: true}}
}

// describedConfig fills in what the version and the request ask for: the source since version 1, type and
// documentation since version 3 (KIP-569).
func describedConfig(req *kmsg.DescribeConfigsRequest, e *configs.Entry) kmsg.DescribeConfigsResponseResourceConfig {
	c := kmsg.NewDescribeConfigsResponseResourceConfig()
	c.Name, c.Value, c.ReadOnly, c.IsSensitive = e.Name, e.Value, e.ReadOnly, e.Sensitive
	c.Source, c.ConfigType = kmsg.ConfigSource(e.Source), kmsg.ConfigType(e.Type)
	if req.IncludeDocumentation {
		c.Documentation = &e.Doc
	}
	if !req.IncludeSynonyms {
		return c
	}
	for _, s := range e.Synonyms {
		k := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
		k.Name, k.Value, k.Source = s.Name, s.Value, kmsg.ConfigSource(s.Source)
		c.ConfigSynonyms = append(c.ConfigSynonyms, k)
	}
	return c
}
