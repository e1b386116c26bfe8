package api

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
)

// ListGroups (key 16), versions 0-5: the groups that are coordinated here, by state since version 4 (KIP-518), by type
// since version 5 (KIP-848). A barrier on its connection.
//
// Errors: 14 COORDINATOR_LOAD_IN_PROGRESS while any partition is being loaded.
var listGroups = &Handler{
	Key: 16, Name: "ListGroups", Min: 0, Max: 5, On: OnBroker,
	Access: Access{Describe, OnCluster},
	Handle: handleListGroups,
}

func handleListGroups(n *Node, r *Request) {
	req := r.Body.(*kmsg.ListGroupsRequest)
	resp := req.ResponseKind().(*kmsg.ListGroupsResponse)
	var mu sync.Mutex
	g := newGather(func() {
		if resp.ErrorCode != 0 {
			resp.Groups = nil
		}
		r.Reply(resp)
	})
	for _, partition := range n.Groups.Directory.Partitions() {
		g.expect()
		n.askCoordinator(r, partition, req, func(answer kmsg.Response) {
			part := answer.(*kmsg.ListGroupsResponse)
			mu.Lock()
			// A partition that has moved away meanwhile has its groups elsewhere.
			if code := kerr.Code(part.ErrorCode); code != kerr.None && code != kerr.NotCoordinator {
				resp.ErrorCode = part.ErrorCode
			}
			resp.Groups = append(resp.Groups, part.Groups...)
			mu.Unlock()
			g.arrive()
		})
	}
	g.arrive()
}
