package group

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/coordinator/timeline"
	"troupe/codec/kerr"
)

// operations are the bits of what a client may do to a group without an authorizer (KIP-430): Read, Delete, Describe,
// DescribeConfigs, AlterConfigs.
const operations int32 = 1<<3 | 1<<6 | 1<<8 | 1<<10 | 1<<11

// describe works on DescribeGroups (key 15), versions 0-6, from committed state.
//
// Errors of a group: 69 GROUP_ID_NOT_FOUND since version 6 (KIP-1043), a state of Dead before.
func (m *Machine) describe(w *waiter, r *kmsg.DescribeGroupsRequest) {
	resp := response[*kmsg.DescribeGroupsResponse](r)
	for _, id := range r.Groups {
		known, there := m.groups.Committed(id)
		g, is := known.(*classic)
		if !is {
			resp.Groups = append(resp.Groups, notClassic(r, id, there))
			continue
		}
		out := kmsg.NewDescribeGroupsResponseGroup()
		out.Group, out.State, out.ProtocolType = id, g.state.String(), g.protocolType
		if g.state == stable {
			out.Protocol = g.chosen
		}
		if r.IncludeAuthorizedOperations {
			out.AuthorizedOperations = operations
		}
		for _, p := range g.members {
			out.Members = append(out.Members, g.describeMember(p))
		}
		resp.Groups = append(resp.Groups, out)
	}
	m.replyNow(w, resp)
}

// describeMember leaves out the metadata of a generation that is not there yet (measured).
func (g *classic) describeMember(p *member) kmsg.DescribeGroupsResponseGroupMember {
	out := kmsg.NewDescribeGroupsResponseGroupMember()
	out.MemberID, out.InstanceID, out.ClientID, out.ClientHost = p.id, p.instance, p.client.ID, p.client.Host
	out.ProtocolMetadata, out.MemberAssignment = []byte{}, append([]byte{}, p.assigned...)
	if g.state == stable {
		out.ProtocolMetadata = p.metadata(g.chosen)
	}
	return out
}

// notClassic is what Kafka says of a group that it does not have, or that has another protocol (measured).
func notClassic(r *kmsg.DescribeGroupsRequest, id string, there bool) kmsg.DescribeGroupsResponseGroup {
	out := kmsg.NewDescribeGroupsResponseGroup()
	out.Group, out.State = id, "Dead"
	if r.Version >= 6 {
		text := fmt.Sprintf("Group %s not found.", id)
		if there {
			text = fmt.Sprintf("Group %s is not a classic group.", id)
		}
		out.ErrorCode, out.ErrorMessage = int16(kerr.GroupIDNotFound), &text
	}
	return out
}

// list works on ListGroups (key 16), versions 0-5, from committed state. Filters by state (KIP-518) and type (KIP-848) do
// not mind the case.
func (m *Machine) list(w *waiter, r *kmsg.ListGroupsRequest) {
	resp := response[*kmsg.ListGroupsResponse](r)
	for _, id := range timeline.SortedCommittedKeys(m.groups) {
		g, _ := m.groups.Committed(id)
		if !passes(r.StatesFilter, g.status()) || !passes(r.TypesFilter, g.kind()) {
			continue
		}
		out := kmsg.NewListGroupsResponseGroup()
		out.Group, out.ProtocolType, out.GroupState, out.GroupType = id, g.protocol(), g.status(), g.kind()
		resp.Groups = append(resp.Groups, out)
	}
	m.replyNow(w, resp)
}

// passes lets everything through when no filter is given.
func passes(filter []string, value string) bool {
	for _, each := range filter {
		if strings.EqualFold(each, value) {
			return true
		}
	}
	return len(filter) == 0
}
