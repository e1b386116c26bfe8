package broker

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/controller"
	"troupe/actors/kit"
	"troupe/actors/replica"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// alterations asks the controller for the ISRs that the leaders here propose: one request at a time with all that has come
// meanwhile, since a broker that dies leaves thousands of ISRs at once. A leader hears of its proposal when there is an
// answer; what no controller could answer is asked again until one can.
type alterations struct {
	lifecycle  *lifecycleState
	controller *kit.Ref // outlives the instances; zero at first
	counts     *replica.Counts

	waiting []*replica.Alter
	asked   []*replica.Alter // on their way; nil for none
	resting bool
}

type (
	// alteration is the controller's answer.
	alteration struct {
		incarnation uint32
		resp        *kmsg.AlterPartitionResponse
	}
	alterationsDue struct{}
)

func (*alteration) MessageKind() string     { return "alterations.answer" }
func (*alterationsDue) MessageKind() string { return "alterations.due" }

func newAlterations(l *lifecycleState, c *replica.Counts) kit.Props {
	var at kit.Ref
	return kit.Props{Kind: "alterations", New: func() kit.Behavior { return &alterations{lifecycle: l, controller: &at, counts: c} }}
}

// Receive gathers proposals, and hands the answers out.
func (a *alterations) Receive(ctx *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case *replica.Alter:
		a.waiting = append(a.waiting, m)
	case *alteration:
		if m.incarnation == ctx.Incarnation() {
			a.answered(ctx, m.resp)
		}
	case *alterationsDue:
		a.resting = false
	case *controllerSpawned:
		*a.controller = m.controller
	}
}

// EndBatch sends what waits.
func (a *alterations) EndBatch(ctx *kit.Context) {
	if a.asked != nil || a.resting || len(a.waiting) == 0 || a.controller.IsZero() {
		return
	}
	a.asked, a.waiting = a.latest(), nil
	self, age := ctx.Self(), ctx.Incarnation()
	ctx.Send(*a.controller, &controller.Request{Body: a.request(), Done: func(resp kmsg.Response) {
		self.Send(&alteration{age, resp.(*kmsg.AlterPartitionResponse)})
	}})
}

// Crashed has the leaders ask again.
func (a *alterations) Crashed(err error) {
	for _, m := range append(a.asked, a.waiting...) {
		m.Fail(err)
	}
}

// latest takes of each partition what was proposed last, in order of the partitions.
func (a *alterations) latest() []*replica.Alter {
	all := a.waiting
	slices.SortStableFunc(all, func(x, y *replica.Alter) int {
		if c := x.Handle.TopicID.Compare(y.Handle.TopicID); c != 0 {
			return c
		}
		return int(x.Handle.TP.Partition) - int(y.Handle.TP.Partition)
	})
	kept := all[:0]
	for i, m := range all {
		if i+1 == len(all) || all[i+1].Handle != m.Handle {
			kept = append(kept, m)
		}
	}
	return kept
}

func (a *alterations) request() *kmsg.AlterPartitionRequest {
	req := kmsg.NewPtrAlterPartitionRequest()
	req.Version = req.MaxVersion()
	req.BrokerID, req.BrokerEpoch = int32(a.lifecycle.id), int64(a.lifecycle.epoch())
	for i, m := range a.asked {
		if i == 0 || a.asked[i-1].Handle.TopicID != m.Handle.TopicID {
			t := kmsg.NewAlterPartitionRequestTopic()
			t.TopicID = m.Handle.TopicID
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewAlterPartitionRequestTopicPartition()
		p.Partition, p.LeaderEpoch, p.PartitionEpoch = m.Handle.TP.Partition, int32(m.LeaderEpoch), int32(m.PartitionEpoch)
		for _, member := range m.ISR {
			isr := kmsg.NewAlterPartitionRequestTopicPartitionNewEpochISR()
			isr.BrokerID, isr.BrokerEpoch = int32(member.ID), int64(member.Epoch)
			if member.ID == a.lifecycle.id {
				isr.BrokerEpoch = req.BrokerEpoch
			}
			p.NewEpochISR = append(p.NewEpochISR, isr)
		}
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, p)
	}
	return req
}

// answered gives each leader its answer. Of a controller that cannot answer now, and of a broker epoch that is about to be
// replaced, the leaders hear nothing: what they proposed is asked again.
func (a *alterations) answered(ctx *kit.Context, resp *kmsg.AlterPartitionResponse) {
	asked := a.asked
	a.asked = nil
	type key struct {
		topic     model.TopicID
		partition int32
	}
	open := make(map[key]*replica.Alter, len(asked))
	for _, m := range asked {
		open[key{m.Handle.TopicID, m.Handle.TP.Partition}] = m
	}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			m := open[key{t.TopidID, p.Partition}]
			if m == nil || kerr.Code(p.ErrorCode) == kerr.NotController || resp.ErrorCode != 0 {
				continue
			}
			delete(open, key{t.TopidID, p.Partition})
			a.count(m, kerr.Code(p.ErrorCode))
			// Behind the settings by which the controller decided, which are on the same way.
			m.Handle.Order(ctx.Cause(), altered(m, p))
		}
	}
	if len(open) == 0 {
		return
	}
	// In front of what came meanwhile: of two proposals of a partition the later one counts.
	asked = slices.DeleteFunc(asked, func(m *replica.Alter) bool { return open[key{m.Handle.TopicID, m.Handle.TP.Partition}] != m })
	a.waiting = append(asked, a.waiting...)
	a.resting = true
	ctx.After(retryAfter, &alterationsDue{})
}

// count counts an answer as Kafka does: of what was taken whether the ISR grew.
func (a *alterations) count(m *replica.Alter, code kerr.Code) {
	switch {
	case code != kerr.None:
		a.counts.Refused.Add(1)
	case m.Expands:
		a.counts.Expansions.Add(1)
	default:
		a.counts.Shrinks.Add(1)
	}
}

func altered(m *replica.Alter, p *kmsg.AlterPartitionResponseTopicPartition) *replica.Altered {
	out := &replica.Altered{
		Asked: m.Proposal, Code: kerr.Code(p.ErrorCode), LeaderEpoch: model.LeaderEpoch(p.LeaderEpoch),
		PartitionEpoch: model.PartitionEpoch(p.PartitionEpoch),
	}
	for _, id := range p.ISR {
		out.ISR = append(out.ISR, model.BrokerID(id))
	}
	return out
}
