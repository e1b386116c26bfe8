package api

import "github.com/twmb/franz-go/pkg/kmsg"

// DescribeGroups (key 15), versions 0-6. The groups' coordinators answer, from what is committed.
//
// Ordering key: the group.
// Errors a group: 14 COORDINATOR_LOAD_IN_PROGRESS, 15 COORDINATOR_NOT_AVAILABLE, 16 NOT_COORDINATOR, 30
// GROUP_AUTHORIZATION_FAILED, 69 GROUP_ID_NOT_FOUND from version 6 on (KIP-1043); before, such a group is Dead.
var describeGroups = &Handler{
	Key: 15, Name: "DescribeGroups", Min: 0, Max: 6, On: OnBroker,
	Order: Order{Pipelined: true, Keys: func(_ *Node, dst []uint64, body kmsg.Request) []uint64 {
		for _, id := range body.(*kmsg.DescribeGroupsRequest).Groups {
			dst = append(dst, groupKey(id))
		}
		return dst
	}},
	Access: Access{Describe, OnGroup},
	Handle: handleDescribeGroups,
}

func handleDescribeGroups(n *Node, r *Request) {
	req := r.Body.(*kmsg.DescribeGroupsRequest)
	resp := req.ResponseKind().(*kmsg.DescribeGroupsResponse)
	resp.Groups = make([]kmsg.DescribeGroupsResponseGroup, len(req.Groups))
	g := newGather(func() { r.Reply(resp) })
	for i, id := range req.Groups {
		one := *req
		one.Groups = []string{id}
		g.expect()
		n.askGroup(r, Describe, id, &one, func(answer kmsg.Response) {
			resp.Groups[i] = answer.(*kmsg.DescribeGroupsResponse).Groups[0]
			g.arrive()
		})
	}
	g.arrive()
}
