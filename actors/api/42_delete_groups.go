package api

import "github.com/twmb/franz-go/pkg/kmsg"

// DeleteGroups (key 42), versions 0-2. The groups' coordinators answer.
//
// Ordering key: the group.
// Errors a group: 14 COORDINATOR_LOAD_IN_PROGRESS, 15 COORDINATOR_NOT_AVAILABLE, 16 NOT_COORDINATOR, 30
// GROUP_AUTHORIZATION_FAILED, 68 NON_EMPTY_GROUP, 69 GROUP_ID_NOT_FOUND.
var deleteGroups = &Handler{
	Key: 42, Name: "DeleteGroups", Min: 0, Max: 2, On: OnBroker,
	Order: Order{Pipelined: true, Keys: func(_ *Node, dst []uint64, body kmsg.Request) []uint64 {
		for _, id := range body.(*kmsg.DeleteGroupsRequest).Groups {
			dst = append(dst, groupKey(id))
		}
		return dst
	}},
	Access: Access{DeleteOp, OnGroup},
	Handle: handleDeleteGroups,
}

func handleDeleteGroups(n *Node, r *Request) {
	req := r.Body.(*kmsg.DeleteGroupsRequest)
	resp := req.ResponseKind().(*kmsg.DeleteGroupsResponse)
	resp.Groups = make([]kmsg.DeleteGroupsResponseGroup, len(req.Groups))
	g := newGather(func() { r.Reply(resp) })
	for i, id := range req.Groups {
		one := *req
		one.Groups = []string{id}
		g.expect()
		n.askGroup(r, DeleteOp, id, &one, func(answer kmsg.Response) {
			resp.Groups[i] = answer.(*kmsg.DeleteGroupsResponse).Groups[0]
			g.arrive()
		})
	}
	g.arrive()
}
