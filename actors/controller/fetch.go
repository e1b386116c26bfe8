package controller

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/actors/peer"
	"troupe/cluster/quorum"
	"troupe/codec/batch"
	"troupe/codec/kerr"
	"troupe/internal/model"
	"troupe/partitionlog"
)

// Fetch asks for the metadata log from an offset on, for a node that does not vote (KIP-595). Done is called once.
type Fetch struct {
	Body *kmsg.FetchRequest
	Done func(*kmsg.FetchResponse)

	until time.Time
}

// MessageKind is part of kit.Message.
func (*Fetch) MessageKind() string { return "controller.fetch" }

// Fail sends the other node to look for the leader again.
func (m *Fetch) Fail(error) {
	m.answer(func(p *kmsg.FetchResponseTopicPartition) { p.ErrorCode = int16(kerr.NotLeaderOrFollower) })
}

// nameLeader tells who leads, and where it is reached (KIP-853): the one that asks may know neither.
func (a *Actor) nameLeader(m *Fetch, code kerr.Code) {
	l := a.leading()
	var at []kmsg.FetchResponseBroker
	var known []batch.Voter
	if l.Leader != quorum.NoVoter { // else the files may not have been read yet
		known = a.voters()
	}
	for _, v := range known {
		if e := a.addressOf(v); v.ID == l.Leader.ID && e != (peer.Address{}) {
			b := kmsg.NewFetchResponseBroker()
			b.NodeID, b.Host, b.Port = int32(v.ID), e.Host, int32(e.Port)
			at = append(at, b)
		}
	}
	m.answer(func(out *kmsg.FetchResponseTopicPartition) {
		out.ErrorCode = int16(code)
		out.CurrentLeader.LeaderID, out.CurrentLeader.LeaderEpoch = int32(l.Leader.ID), int32(l.Epoch)
	}, at...)
}

// part is the one partition that can be asked for; nil for any other.
func (m *Fetch) part() *kmsg.FetchRequestTopicPartition {
	if len(m.Body.Topics) != 1 || len(m.Body.Topics[0].Partitions) != 1 {
		return nil
	}
	if t := &m.Body.Topics[0]; t.TopicID == metadataTopicID && t.Partitions[0].Partition == metadataTopic.Partition {
		return &t.Partitions[0]
	}
	return nil
}

// answer fills in the same for each partition that was named.
func (m *Fetch) answer(fill func(*kmsg.FetchResponseTopicPartition), leaders ...kmsg.FetchResponseBroker) {
	resp := m.Body.ResponseKind().(*kmsg.FetchResponse)
	resp.SetVersion(m.Body.GetVersion())
	resp.Brokers = leaders
	for _, asked := range m.Body.Topics {
		t := kmsg.NewFetchResponseTopic()
		t.Topic, t.TopicID = asked.Topic, asked.TopicID
		for _, p := range asked.Partitions {
			out := kmsg.NewFetchResponseTopicPartition()
			out.Partition, out.HighWatermark, out.LastStableOffset = p.Partition, -1, -1
			fill(&out)
			t.Partitions = append(t.Partitions, out)
		}
		resp.Topics = append(resp.Topics, t)
	}
	m.Done(resp)
}

// fetch answers as the active controller, which knows how far the log is committed; or keeps the request until there is
// something to tell.
func (a *Actor) fetch(ctx *kit.Context, m *Fetch) {
	p := m.part()
	if p == nil {
		m.answer(func(p *kmsg.FetchResponseTopicPartition) { p.ErrorCode = int16(kerr.UnknownTopicOrPartition) })
		return
	}
	if code := a.serves(p.CurrentLeaderEpoch); code != kerr.None || !a.machine.Leading() {
		if code == kerr.None {
			code = kerr.NotLeaderOrFollower
		}
		a.nameLeader(m, code)
		return
	}
	if m.until.IsZero() {
		m.until = ctx.Now().Add(time.Duration(max(m.Body.MaxWaitMillis, 0)) * time.Millisecond)
	}
	from, view, high := model.Offset(p.FetchOffset), a.log.View(), a.log.HighWatermark()
	a.noteFetch(ctx, m, p, from, high)
	last, own := model.LeaderEpoch(p.LastFetchedEpoch), a.leading().Epoch
	epoch, end := view.EpochEnd(last)
	if last == own {
		// Followers may have written, and together committed, what this leader is still writing: that is its own all the same.
		epoch, end = last, a.raft.End()
	}
	switch {
	case last > own: // another one has been elected since
		a.nameLeader(m, kerr.UnknownLeaderEpoch)
	case last < 0 || from < view.LogStart:
		a.sendElsewhere(m)
	case from > view.LogStart && (epoch != last || end < from):
		m.answer(func(out *kmsg.FetchResponseTopicPartition) {
			out.DivergingEpoch.Epoch, out.DivergingEpoch.EndOffset = int32(epoch), int64(min(end, high))
		})
	case from < high:
		a.readLog(ctx, m, view, from, high, p.PartitionMaxBytes)
	case ctx.Now().Before(m.until):
		a.copies.waiting = append(a.copies.waiting, m)
	default:
		m.answer(func(out *kmsg.FetchResponseTopicPartition) { out.HighWatermark = int64(high) })
	}
}

// sendElsewhere names the newest checkpoint, from which the log goes on: where it began, the checkpoint of the first voters.
func (a *Actor) sendElsewhere(m *Fetch) {
	b := a.raft.Checkpoint()
	m.answer(func(out *kmsg.FetchResponseTopicPartition) {
		out.SnapshotID.EndOffset, out.SnapshotID.Epoch = int64(b.End), int32(b.Epoch)
	})
}

// noteFetch keeps how far a node has come.
func (a *Actor) noteFetch(ctx *kit.Context, m *Fetch, p *kmsg.FetchRequestTopicPartition, from, high model.Offset) {
	r := a.copies.of(quorum.VoterKey{ID: model.BrokerID(m.Body.ReplicaState.ID), Directory: p.ReplicaDirectoryID})
	r.observes, r.end, r.fetched = true, from, ctx.Now()
	if from >= high {
		r.caughtUp = r.fetched
	}
}

// readLog reads batches on a lane that nothing of raft waits for.
func (a *Actor) readLog(ctx *kit.Context, m *Fetch, view *partitionlog.View, from, high model.Offset, most int32) {
	var data []byte
	ctx.Send(a.deps.Dir.ColdLane(metadataTopic), &disk.Task{
		Name: "read metadata",
		Do: func() (err error) {
			region, err := view.Read(from, high, int(max(most, 1)), true)
			if err != nil || region.Len == 0 {
				return err
			}
			defer region.Release()
			data = make([]byte, region.Len)
			n, err := region.File.ReadAt(data, region.Pos)
			if n == len(data) {
				err = nil
			}
			return err
		},
		Done: func(err error) {
			m.answer(func(out *kmsg.FetchResponseTopicPartition) {
				if err != nil {
					code, _ := kerr.Of(err)
					if errors.Is(err, partitionlog.ErrStale) {
						code = kerr.NotLeaderOrFollower // it comes again, and finds the log as it is then
					}
					out.ErrorCode = int16(code)
					return
				}
				out.HighWatermark, out.LastStableOffset, out.RecordBatches = int64(high), int64(high), data
			})
		},
	})
}

// wakeFetches looks at the fetches that wait.
func (a *Actor) wakeFetches(ctx *kit.Context) {
	waiting := a.copies.waiting
	a.copies.waiting = nil
	for _, m := range waiting {
		a.fetch(ctx, m)
	}
}
