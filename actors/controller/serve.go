package controller

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/cluster/quorum"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// FetchSnapshot asks for a piece of a checkpoint (KIP-630). Done is called once.
type FetchSnapshot struct {
	Body *kmsg.FetchSnapshotRequest
	Done func(*kmsg.FetchSnapshotResponse)
}

// MessageKind is part of kit.Message.
func (*FetchSnapshot) MessageKind() string { return "controller.fetch-snapshot" }

// Fail sends the other node to look for the leader again.
func (m *FetchSnapshot) Fail(error) { m.answer(kerr.NotLeaderOrFollower, nil) }

// part is the one partition that can be asked for; nil for any other.
func (m *FetchSnapshot) part() *kmsg.FetchSnapshotRequestTopicPartition {
	if len(m.Body.Topics) != 1 || m.Body.Topics[0].Topic != metadataTopic.Topic || len(m.Body.Topics[0].Partitions) != 1 {
		return nil
	}
	if p := &m.Body.Topics[0].Partitions[0]; p.Partition == metadataTopic.Partition {
		return p
	}
	return nil
}

// answer gives a piece, or a code for each partition that was named.
func (m *FetchSnapshot) answer(code kerr.Code, fill func(*kmsg.FetchSnapshotResponseTopicPartition)) {
	resp := m.Body.ResponseKind().(*kmsg.FetchSnapshotResponse)
	resp.SetVersion(m.Body.GetVersion())
	for _, asked := range m.Body.Topics {
		t := kmsg.NewFetchSnapshotResponseTopic()
		t.Topic = asked.Topic
		for _, p := range asked.Partitions {
			out := kmsg.NewFetchSnapshotResponseTopicPartition()
			out.Partition, out.ErrorCode = p.Partition, int16(code)
			out.SnapshotID.EndOffset, out.SnapshotID.Epoch = p.SnapshotID.EndOffset, p.SnapshotID.Epoch
			if fill != nil {
				fill(&out)
			}
			t.Partitions = append(t.Partitions, out)
		}
		resp.Topics = append(resp.Topics, t)
	}
	m.Done(resp)
}

// fetchSnapshot has the piece read on a lane that nothing of raft waits for.
func (a *Actor) fetchSnapshot(ctx *kit.Context, m *FetchSnapshot) {
	p := m.part()
	if p == nil {
		m.answer(kerr.UnknownTopicOrPartition, nil)
		return
	}
	if code := a.serves(p.CurrentLeaderEpoch); code != kerr.None {
		m.answer(code, nil)
		return
	}
	name := quorum.CheckpointName(model.Offset(p.SnapshotID.EndOffset), model.LeaderEpoch(p.SnapshotID.Epoch))
	var size int64
	var data []byte
	ctx.Send(a.deps.Dir.BulkLane(metadataTopic), &disk.Task{
		Name: "read metadata checkpoint",
		Do: func() (err error) {
			data, size, err = a.store.readPiece(name, p.Position, m.Body.MaxBytes)
			return err
		},
		Done: func(err error) {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				m.answer(kerr.SnapshotNotFound, nil)
			case err != nil:
				code, _ := kerr.Of(err)
				m.answer(code, nil)
			default:
				m.answer(kerr.None, func(out *kmsg.FetchSnapshotResponseTopicPartition) {
					out.Size, out.Position, out.Bytes = size, p.Position, data
				})
			}
		},
	})
}

// serves tells whether this node answers as the leader of an epoch; a negative one is not compared (KIP-320).
func (a *Actor) serves(epoch int32) kerr.Code {
	l := a.leading()
	switch {
	case !l.Self:
		return kerr.NotLeaderOrFollower
	case epoch >= 0 && model.LeaderEpoch(epoch) < l.Epoch:
		return kerr.FencedLeaderEpoch
	case model.LeaderEpoch(epoch) > l.Epoch:
		return kerr.UnknownLeaderEpoch
	}
	return kerr.None
}

// readPiece reads from a file at a position. Errors: fs.ErrNotExist, POSITION_OUT_OF_RANGE.
func (s *store) readPiece(name string, at int64, max int32) (data []byte, size int64, err error) {
	f, err := s.env.FS.Open(filepath.Join(s.path, name), os.O_RDONLY, 0)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if size, err = f.Size(); err != nil {
		return nil, 0, err
	}
	if at < 0 || at >= size || max <= 0 {
		return nil, 0, kerr.PositionOutOfRange
	}
	data = make([]byte, min(int64(max), size-at))
	n, err := f.ReadAt(data, at)
	if n == len(data) {
		err = nil
	}
	return data, size, err
}
