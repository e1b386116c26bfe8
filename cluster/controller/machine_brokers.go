package controller

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cluster/image"
	"troupe/cluster/record"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// registerBroker takes in an incarnation of a broker, fenced until its metadata has caught up with the registration.
//
// Versions 0 to 4, between brokers and controllers only: 2 brings directories (KIP-858), 3 the epoch that a clean stop left
// behind (KIP-966).
//
// Errors:
//
//	35  it cannot run a finalized feature at its level
//	101 a live broker has the id
//	104 it belongs to another cluster
//	119 it has no directories, one of them twice, or one of another broker; or it is migrating from ZooKeeper
func (m *Machine) registerBroker(at At, r *kmsg.BrokerRegistrationRequest) outcome {
	resp := reply[*kmsg.BrokerRegistrationResponse](r)
	resp.BrokerEpoch = -1
	if err := m.checkRegistration(at, r); err != nil {
		resp.ErrorCode = codeOf(err)
		return outcome{response: resp}
	}
	registration := &record.RegisterBroker{
		BrokerID: model.BrokerID(r.BrokerID), IncarnationID: r.IncarnationID, Rack: r.Rack, Fenced: true,
		Endpoints: endpoints(r.Listeners), Features: featureRanges(r.Features),
	}
	for _, dir := range r.LogDirs {
		registration.LogDirs = append(registration.LogDirs, dir)
	}
	slices.SortFunc(registration.LogDirs, model.UUID.Compare)
	records := []record.Record{registration}
	old, known := m.current.Broker(registration.BrokerID)
	if known && old.IncarnationID == registration.IncarnationID {
		registration.BrokerEpoch, registration.Fenced = old.Epoch, old.Fenced
		registration.InControlledShutdown = old.InControlledShutdown
	} else {
		switch {
		case !known || int64(old.Epoch) != r.PreviousBrokerEpoch:
			// Of one that was unregistered nothing tells any more how its process before ended.
			records = append(records, m.crashed(registration.BrokerID)...)
		case known && !old.Fenced && old.ID == m.options.NodeID:
			records = append(records, m.leadOn(old.ID, registration.LogDirs)...)
		case known && !old.Fenced:
			// It is back before anybody missed it. Who can serve now takes over what it led.
			records = append(records, m.leave(registration.BrokerID)...)
		}
		// The broker epoch is the offset of this record (KIP-631), which in a transaction follows the begin record.
		registration.BrokerEpoch = model.BrokerEpoch(at.Next)
		if len(atomic(records, m.level())) > len(records) {
			registration.BrokerEpoch++
		}
		if s, known := m.sessions[registration.BrokerID]; known {
			s.returning = model.Offset(registration.BrokerEpoch)
		}
	}
	resp.BrokerEpoch = int64(registration.BrokerEpoch)
	return outcome{records, resp}
}

// checkRegistration comes before anything is recorded: a registration replaces the one before it.
func (m *Machine) checkRegistration(at At, r *kmsg.BrokerRegistrationRequest) error {
	id := model.BrokerID(r.BrokerID)
	if r.ClusterID != m.options.ClusterID {
		return kerr.InconsistentClusterID
	}
	if old, ok := m.current.Broker(id); ok && old.IncarnationID != r.IncarnationID && m.alive(at, old, r.LogDirs) {
		return kerr.DuplicateBrokerRegistration
	}
	if r.IsMigratingZkBroker {
		return kerr.InvalidRegistration
	}
	for name, level := range m.current.Features() {
		i := slices.IndexFunc(r.Features, func(f kmsg.BrokerRegistrationRequestFeature) bool { return f.Name == name })
		if i < 0 || level < r.Features[i].MinSupportedVersion || level > r.Features[i].MaxSupportedVersion {
			return kerr.UnsupportedVersion
		}
	}
	return m.checkDirectories(r)
}

// checkDirectories: every directory belongs to one broker, and a broker has at least one (KIP-858).
func (m *Machine) checkDirectories(r *kmsg.BrokerRegistrationRequest) error {
	if m.level() < record.Directories {
		return nil
	}
	if len(r.LogDirs) == 0 {
		return fail(kerr.InvalidRegistration, "No directories specified in request")
	}
	for i, dir := range r.LogDirs {
		if slices.Contains(r.LogDirs[:i], dir) {
			return fail(kerr.InvalidRegistration, "Duplicate directory ID in request")
		}
		for b := range m.current.Brokers() {
			if b.ID != model.BrokerID(r.BrokerID) && slices.Contains(b.LogDirs, model.DirectoryID(dir)) {
				return fail(kerr.InvalidRegistration, fmt.Sprintf("Broker %d is already registered with directory %s", b.ID, model.UUID(dir)))
			}
		}
	}
	return nil
}

// registered finds a broker by id and epoch. Errors: 77, 102.
func (m *Machine) registered(id model.BrokerID, epoch model.BrokerEpoch) (*image.Broker, error) {
	b, ok := m.current.Broker(id)
	if !ok {
		return nil, fail(kerr.BrokerIDNotRegistered, fmt.Sprintf("Broker ID %d is not currently registered", id))
	}
	if b.Epoch != epoch {
		return nil, fail(kerr.StaleBrokerEpoch, fmt.Sprintf("Expected broker epoch %d, but got broker epoch %d", b.Epoch, epoch))
	}
	return b, nil
}

// unregisterBroker forgets a broker for good. Version 0. Error: 102 it is not registered.
func (m *Machine) unregisterBroker(r *kmsg.UnregisterBrokerRequest) outcome {
	resp := reply[*kmsg.UnregisterBrokerResponse](r)
	b, ok := m.current.Broker(model.BrokerID(r.BrokerID))
	if !ok {
		err := fail(kerr.BrokerIDNotRegistered, fmt.Sprintf("Broker ID %d is not currently registered", r.BrokerID))
		resp.ErrorCode, resp.ErrorMessage = codeOf(err), message(err)
		return outcome{response: resp}
	}
	records := []record.Record{&record.UnregisterBroker{BrokerID: b.ID, BrokerEpoch: b.Epoch}}
	return outcome{append(records, m.leave(b.ID)...), resp}
}

// registerController takes in an incarnation of a controller (KIP-919). Version 0, between controllers only.
// Error: 35 below the metadata.version for it.
func (m *Machine) registerController(r *kmsg.ControllerRegistrationRequest) outcome {
	resp := reply[*kmsg.ControllerRegistrationResponse](r)
	if m.level() < record.ControllerRegistrations {
		err := fail(kerr.UnsupportedVersion, "The current metadata.version is too old to support controller registrations.")
		resp.ErrorCode, resp.ErrorMessage = codeOf(err), message(err)
		return outcome{response: resp}
	}
	registration := &record.RegisterController{
		ControllerID: model.BrokerID(r.ControllerID), IncarnationID: r.IncarnationID, ZkMigrationReady: r.ZkMigrationReady,
	}
	for _, l := range r.Listeners {
		registration.Endpoints = append(registration.Endpoints,
			record.Endpoint{Name: l.Name, Host: l.Host, Port: l.Port, SecurityProtocol: l.SecurityProtocol})
	}
	for _, f := range r.Features {
		registration.Features = append(registration.Features, record.FeatureRange{
			Name: f.Name, MinSupportedVersion: f.MinSupportedVersion, MaxSupportedVersion: f.MaxSupportedVersion,
		})
	}
	return outcome{[]record.Record{registration}, resp}
}

// fence records that a broker does not serve, and moves what it led.
func (m *Machine) fence(b *image.Broker) []record.Record {
	if b.Fenced {
		return nil
	}
	m.sessions[b.ID].returning = model.NoOffset
	fenced := &record.BrokerRegistrationChange{BrokerID: b.ID, BrokerEpoch: b.Epoch, Fenced: 1}
	return append([]record.Record{fenced}, m.leave(b.ID)...)
}

// unfence records that a broker serves, and elects it where nobody leads.
func (m *Machine) unfence(b *image.Broker) []record.Record {
	records := []record.Record{&record.BrokerRegistrationChange{BrokerID: b.ID, BrokerEpoch: b.Epoch, Fenced: -1}}
	for t := range m.current.Topics("") {
		for n, p := range t.Partitions {
			if p.Leader != model.NoBroker || !slices.Contains(p.Replicas, b.ID) {
				continue
			}
			c := m.change(t, int32(n))
			c.live = m.leadable(p, func(id model.BrokerID) bool { return id == b.ID || m.active(id) })
			records = appendChange(records, c.record())
		}
	}
	return records
}

// leave takes a broker out of every ISR and elects others where it led.
func (m *Machine) leave(id model.BrokerID) []record.Record {
	return m.depart(id, model.NoBroker)
}

// leadOn has a broker go on leading in other epochs: its process is another one, which has lost nothing, but knows less of what is
// committed than the one before and must not tell that the log ends there (KIP-207). It stays in the ISR, since of the others,
// which may have died with it, nobody has heard yet. A replica alone knows all.
//
// What lay in a directory that it does not have any more is lost to it: there it goes.
func (m *Machine) leadOn(id model.BrokerID, directories []model.DirectoryID) []record.Record {
	next := image.Broker{ID: id, LogDirs: directories}
	var records []record.Record
	for t := range m.current.Topics("") {
		for n, p := range t.Partitions {
			switch {
			case !next.HasOnline(p):
				records = appendChange(records, m.leaveDirectory(t, int32(n), id))
			case p.Leader == id && len(p.Replicas) > 1:
				records = append(records, leadAgain(t, int32(n)))
			}
		}
	}
	return records
}

// crashed is leave for a broker that comes back without having stopped cleanly: the system may have lost what it had
// not synced, so it is no eligible leader either. Where it is the only replica it leads on under a new leader epoch,
// which lets consumers notice what went (KIP-320).
func (m *Machine) crashed(id model.BrokerID) []record.Record {
	return m.depart(id, id)
}

// depart walks all partitions; crashed is NoBroker for a broker that has lost nothing.
func (m *Machine) depart(id, crashed model.BrokerID) []record.Record {
	var records []record.Record
	for t := range m.current.Topics("") {
		for n, p := range t.Partitions {
			if p.Leader != id && !slices.Contains(p.ISR, id) && (crashed != id || !slices.Contains(p.ELR, id)) {
				continue
			}
			if crashed == id && len(p.Replicas) == 1 {
				records = appendChange(records, leadAgain(t, int32(n)))
				continue
			}
			c := m.change(t, int32(n))
			c.isr, c.crashed = without(p.ISR, id), crashed
			c.live = m.leadable(p, func(other model.BrokerID) bool { return other != id && m.active(other) })
			records = appendChange(records, c.record())
		}
	}
	return records
}

// leadAgain gives a partition's leader the next leader epoch; one without a leader gets it when it is elected.
func leadAgain(t *image.Topic, n int32) *record.PartitionChange {
	if t.Partitions[n].Leader == model.NoBroker {
		return nil
	}
	again := record.NewPartitionChange(n, t.ID)
	again.Leader = t.Partitions[n].Leader
	return again
}

// appendChange takes "nothing to change" for an answer.
func appendChange(records []record.Record, r *record.PartitionChange) []record.Record {
	if r == nil {
		return records
	}
	return append(records, r)
}

func endpoints(listeners []kmsg.BrokerRegistrationRequestListener) []record.Endpoint {
	list := make([]record.Endpoint, 0, len(listeners))
	for _, l := range listeners {
		list = append(list, record.Endpoint{Name: l.Name, Host: l.Host, Port: l.Port, SecurityProtocol: l.SecurityProtocol})
	}
	return list
}

func featureRanges(features []kmsg.BrokerRegistrationRequestFeature) []record.FeatureRange {
	list := make([]record.FeatureRange, 0, len(features))
	for _, f := range features {
		list = append(list, record.FeatureRange{Name: f.Name, MinSupportedVersion: f.MinSupportedVersion, MaxSupportedVersion: f.MaxSupportedVersion})
	}
	return list
}
