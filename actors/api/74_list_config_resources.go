package api

import (
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cluster/image"
	"troupe/codec/kerr"
)

// ListConfigResources (key 74), versions 0-1: what can be named in DescribeConfigs. Version 0 lists subscriptions of
// client metrics alone (KIP-714), version 1 the kinds asked for, or all (KIP-1142). A barrier on its connection.
//
// Errors: 31 CLUSTER_AUTHORIZATION_FAILED, 35 UNSUPPORTED_VERSION for an unknown kind.
var listConfigResources = &Handler{
	Key: 74, Name: "ListConfigResources", Min: 0, Max: 1, On: OnBroker,
	Access: Access{DescribeConfigs, OnCluster},
	Handle: handleListConfigResources,
}

// listedKinds is the order in which Kafka 4.3.1 lists them.
var listedKinds = []kmsg.ConfigResourceType{
	kmsg.ConfigResourceTypeGroupConfig, kmsg.ConfigResourceTypeClientMetrics, kmsg.ConfigResourceTypeBrokerLogger,
	kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeTopic,
}

// handleListConfigResources answers no part of a request that names an unknown kind: the client cannot tell an empty
// kind from one that was skipped.
func handleListConfigResources(n *Node, r *Request) {
	req := r.Body.(*kmsg.ListConfigResourcesRequest)
	resp := req.ResponseKind().(*kmsg.ListConfigResourcesResponse)
	for _, kind := range req.ResourceTypes {
		if !describable(kmsg.ConfigResourceType(kind)) {
			resp.ErrorCode = int16(kerr.UnsupportedVersion)
			r.Reply(resp)
			return
		}
	}
	for _, kind := range listedKinds {
		switch {
		case r.Version == 0 && kind != kmsg.ConfigResourceTypeClientMetrics:
			continue
		case len(req.ResourceTypes) > 0 && !slices.Contains(req.ResourceTypes, int8(kind)):
			continue
		}
		for _, name := range n.resources(kind) {
			res := kmsg.NewListConfigResourcesResponseConfigResource()
			res.Name, res.Type = name, int8(kind)
			resp.ConfigResources = append(resp.ConfigResources, res)
		}
	}
	r.Reply(resp)
}

// resources lists the names of one kind: topics and brokers that there are, groups and subscriptions with something set.
func (n *Node) resources(kind kmsg.ConfigResourceType) []string {
	var names []string
	img := n.Image()
	switch kind {
	case kmsg.ConfigResourceTypeTopic:
		for t := range img.Topics("") {
			names = append(names, t.Name)
		}
	case kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeBrokerLogger:
		for b := range img.Brokers() {
			names = append(names, strconv.Itoa(int(b.ID)))
		}
	default:
		for res := range img.Configs() {
			if res.Type == image.ResourceType(kind) {
				names = append(names, res.Name)
			}
		}
	}
	return names
}
