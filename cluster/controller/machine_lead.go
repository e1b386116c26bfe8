package controller

import (
	"maps"
	"slices"

	"troupe/cluster/image"
	"troupe/cluster/record"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// Lead makes this node the active controller, from the committed image that ends with the first record of its epoch:
// whatever an older leader had appended is either in it or gone. A new cluster gets its first records; a transaction that
// the leader before left open (open) is aborted, since its end will not come.
//
// Sessions of brokers begin anew: none is fenced before it had the time to find this controller.
func (m *Machine) Lead(at At, epoch model.LeaderEpoch, committed *image.Image, open bool) Effects {
	m.idle()
	m.leading, m.epoch = true, epoch
	m.state, m.current = committed.Edit(), committed
	m.committed = at.Next - 1
	m.sessions = map[model.BrokerID]*session{}
	for b := range committed.Brokers() {
		s := newSession()
		s.serving = at.Time
		if !b.Fenced {
			s.contact = at.Time
		}
		m.sessions[b.ID] = s
	}
	m.rounds = rounds{balance: at.Time.Add(m.options.BalanceEvery), unclean: at.Time.Add(m.options.UncleanEvery)}
	var records []record.Record
	if open {
		reason := "controller failover"
		m.state = reopened(committed)
		records = append(records, &record.AbortTransaction{Reason: &reason})
	}
	if committed.Feature(image.MetadataVersionFeature) == 0 {
		records = append(records, atomic(m.bootstrap(), m.level())...)
	}
	if len(records) == 0 {
		return Effects{}
	}
	m.pending = &proposal{records: records}
	return Effects{Append: records, Level: m.level()}
}

// reopened gives an editor that expects the abort of a transaction whose records are in the log but not in the image.
func reopened(i *image.Image) *image.Editor {
	e := i.Edit()
	if err := e.Apply(i.Offset, i.Epoch, &record.BeginTransaction{}); err != nil {
		panic(err)
	}
	return e
}

// bootstrap is the first records of a new cluster. A feature without a record is finalized at 0.
func (m *Machine) bootstrap() []record.Record {
	records := []record.Record{
		&record.FeatureLevel{Name: image.MetadataVersionFeature, Level: int16(m.level())},
	}
	for _, name := range slices.Sorted(maps.Keys(m.options.Levels)) {
		if level := m.options.Levels[name]; level > 0 && name != image.MetadataVersionFeature {
			records = append(records, &record.FeatureLevel{Name: name, Level: level})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m.options.Initial)) {
		value := m.options.Initial[key]
		records = append(records, &record.Config{ResourceType: int8(image.BrokerResource), Name: key, Value: &value})
	}
	return records
}

// Resign rolls back to what is committed: the uncommitted state is dropped, and whoever waits is sent elsewhere. What was
// refused so may still be committed by the next leader; requests are made so that repeating them is harmless or an error.
func (m *Machine) Resign() []Reply {
	var replies []Reply
	if p := m.pending; p != nil && p.request != nil {
		replies = append(replies, Reply{p.token, Refuse(p.request, kerr.NotController)})
	}
	for _, p := range m.parked {
		replies = append(replies, Reply{p.reply.Token, Refuse(p.request, kerr.NotController)})
	}
	m.leading, m.epoch = false, model.NoLeaderEpoch
	m.state, m.current = nil, image.Empty(m.options.ClusterID)
	m.pending, m.parked, m.sessions = nil, nil, nil
	return replies
}
