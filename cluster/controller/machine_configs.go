package controller

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cluster/image"
	"troupe/cluster/record"
	"troupe/codec/kerr"
	"troupe/internal/invariant"
	"troupe/internal/model"
)

// incrementalAlterConfigs changes single keys (KIP-339); each resource is answered on its own.
//
// Versions 0 and 1, which differ in framing only.
//
// Errors of a resource:
//
//	3   the topic does not exist
//	40  a topic's key or value is wrong; min.insync.replicas for one broker, or removed for all, while ELR is on
//	42  a broker's key or value is wrong; a resource or key is named twice; a value is null; the kind is unknown
//	102 the broker is not registered
func (m *Machine) incrementalAlterConfigs(r *kmsg.IncrementalAlterConfigsRequest) outcome {
	resp := reply[*kmsg.IncrementalAlterConfigsResponse](r)
	var records []record.Record
	for _, each := range distinct(len(r.Resources), func(i int) string {
		return resourceKey(r.Resources[i].ResourceType, r.Resources[i].ResourceName)
	}) {
		asked := r.Resources[each.first]
		changes := make([]ConfigChange, 0, len(asked.Configs))
		for _, c := range asked.Configs {
			changes = append(changes, ConfigChange{c.Name, c.Op, c.Value})
		}
		changed, err := m.altered(resource(asked.ResourceType, asked.ResourceName), changes, each.times > 1)
		for range each.times {
			resp.Resources = append(resp.Resources, incrementalResult(asked.ResourceType, asked.ResourceName, err))
		}
		if err == nil {
			records = append(records, changed...)
		}
	}
	if r.ValidateOnly {
		return outcome{response: resp}
	}
	return outcome{append(records, m.consequences(records)...), resp}
}

// alterConfigs replaces all keys of a resource: who uses it must know them all. Versions 0 to 2, which differ in framing
// only. Errors are those of incrementalAlterConfigs.
func (m *Machine) alterConfigs(r *kmsg.AlterConfigsRequest) outcome {
	resp := reply[*kmsg.AlterConfigsResponse](r)
	var records []record.Record
	for _, each := range distinct(len(r.Resources), func(i int) string {
		return resourceKey(r.Resources[i].ResourceType, r.Resources[i].ResourceName)
	}) {
		asked := r.Resources[each.first]
		entries := make([]ConfigChange, 0, len(asked.Configs))
		for _, c := range asked.Configs {
			entries = append(entries, ConfigChange{Key: c.Name, Value: c.Value})
		}
		changed, err := m.replaced(resource(asked.ResourceType, asked.ResourceName), entries, each.times > 1)
		for range each.times {
			resp.Resources = append(resp.Resources, alterResult(asked.ResourceType, asked.ResourceName, err))
		}
		if err == nil {
			records = append(records, changed...)
		}
	}
	if r.ValidateOnly {
		return outcome{response: resp}
	}
	return outcome{append(records, m.consequences(records)...), resp}
}

// altered leaves to the rules what the operations do: only they know which keys are lists.
func (m *Machine) altered(r image.ConfigResource, changes []ConfigChange, repeated bool) ([]record.Record, error) {
	if err := cmp.Or(m.checkAlteration(r, changes, repeated), m.checkCordon(r, changes)); err != nil {
		return nil, err
	}
	stored := m.current.Config(r)
	next, err := m.options.Rules.Alter(r, stored, changes)
	if err != nil {
		return nil, err
	}
	return configRecords(r, stored, next), m.checkELR(r, next, changes)
}

// replaced removes every key that the request does not name.
func (m *Machine) replaced(r image.ConfigResource, entries []ConfigChange, repeated bool) ([]record.Record, error) {
	if err := cmp.Or(m.checkAlteration(r, entries, repeated), m.checkCordon(r, entries)); err != nil {
		return nil, err
	}
	if err := m.options.Rules.Check(r, entries); err != nil {
		return nil, err
	}
	values := make(map[string]string, len(entries))
	for _, e := range entries {
		values[e.Key] = *e.Value
	}
	stored, next := m.current.Config(r), image.NewConfig(values)
	changes := slices.Clone(entries)
	for key := range stored.All() {
		if _, kept := next.Get(key); !kept {
			changes = append(changes, ConfigChange{Key: key, Op: kmsg.IncrementalAlterConfigOpDelete})
		}
	}
	return configRecords(r, stored, next), m.checkELR(r, next, changes)
}

// cordonedKey are the log directories of a broker that take no new replicas.
const cordonedKey = "cordoned.log.dirs"

// checkCordon refuses what no record could tell the others yet (KIP-1066).
func (m *Machine) checkCordon(r image.ConfigResource, changes []ConfigChange) error {
	if r.Type == image.BrokerResource && m.level() < record.CordonedDirectories &&
		slices.ContainsFunc(changes, func(c ConfigChange) bool { return c.Key == cordonedKey }) {
		return fail(kerr.InvalidConfig, "The cordoned.log.dirs configuration value cannot be set because it requires metadata.version >= "+
			record.CordonedDirectories.String())
	}
	return nil
}

// checkELR keeps min.insync.replicas one number for the whole cluster while eligible leaders are chosen by it (KIP-966).
// A change that would change nothing is refused too (measured on Kafka 4.3.1).
func (m *Machine) checkELR(r image.ConfigResource, to image.Config, changes []ConfigChange) error {
	if r.Type != image.BrokerResource || m.current.Feature(image.ELRVersionFeature) == 0 {
		return nil
	}
	if !slices.ContainsFunc(changes, func(c ConfigChange) bool { return c.Key == minISRKey }) {
		return nil
	}
	if r.Name != "" {
		return fail(kerr.InvalidConfig, "Broker-level min.insync.replicas cannot be altered while ELR is enabled.")
	}
	if _, has := to.Get(minISRKey); !has {
		return fail(kerr.InvalidConfig, "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.")
	}
	return nil
}

// checkAlteration judges what does not depend on what the keys mean.
func (m *Machine) checkAlteration(r image.ConfigResource, changes []ConfigChange, repeated bool) error {
	if repeated {
		return fail(kerr.InvalidRequest, "Each resource must appear at most once.")
	}
	seen := make(map[string]bool, len(changes))
	for _, c := range changes {
		if seen[c.Key] {
			return fail(kerr.InvalidRequest, "Error due to duplicate config keys")
		}
		seen[c.Key] = true
		if c.Value == nil && c.Op != kmsg.IncrementalAlterConfigOpDelete {
			return fail(kerr.InvalidRequest, "Null value not supported for : "+c.Key)
		}
	}
	return m.checkResource(r)
}

// checkResource tells whether there is such a thing to configure. Groups and subscriptions exist by being named.
func (m *Machine) checkResource(r image.ConfigResource) error {
	switch r.Type {
	case image.TopicResource:
		if r.Name == "" {
			return fail(kerr.InvalidRequest, "Default topic resources are not allowed.")
		}
		if _, ok := m.current.Topic(r.Name); !ok {
			return fail(kerr.UnknownTopicOrPartition, fmt.Sprintf("The topic '%s' does not exist.", r.Name))
		}
	case image.BrokerResource:
		if r.Name == "" {
			return nil
		}
		id, err := strconv.ParseInt(r.Name, 10, 32)
		if err != nil {
			return fail(kerr.InvalidRequest, fmt.Sprintf("Node id must be an integer, but it is: %s", r.Name))
		}
		if _, ok := m.current.Broker(model.BrokerID(id)); !ok {
			return fail(kerr.BrokerIDNotRegistered, fmt.Sprintf("No broker with id %d found.", id))
		}
	case image.ClientMetricsResource:
		if r.Name == "" {
			return fail(kerr.InvalidRequest, "Subscription name can't be empty")
		}
	case image.GroupResource:
		if r.Name == "" {
			return fail(kerr.InvalidRequest, "Default group resources are not allowed.")
		}
	default:
		return fail(kerr.InvalidRequest, fmt.Sprintf("Unexpected resource type %d.", r.Type))
	}
	return nil
}

// configRecords turns one set into the other.
func configRecords(r image.ConfigResource, from, to image.Config) []record.Record {
	var records []record.Record
	add := func(key string, value *string) {
		records = append(records, &record.Config{ResourceType: int8(r.Type), ResourceName: r.Name, Name: key, Value: value})
	}
	// Deletions first, then values, each in order of key: the same change gives the same records.
	for key := range from.All() {
		if _, ok := to.Get(key); !ok {
			add(key, nil)
		}
	}
	for key, value := range to.All() {
		if old, ok := from.Get(key); !ok || old != value {
			add(key, &value)
		}
	}
	return records
}

// consequences are the partition changes that changed configs bring: another min.insync.replicas voids eligible
// leaders (KIP-966), and allowing unclean elections holds one at once where nobody leads.
func (m *Machine) consequences(configs []record.Record) []record.Record {
	var records []record.Record
	for _, r := range configs {
		c := r.(*record.Config)
		topic := ""
		if image.ResourceType(c.ResourceType) == image.TopicResource {
			topic = c.ResourceName
		}
		switch {
		case c.Name == minISRKey:
			records = append(records, m.voidELR(topic)...)
		case c.Name == uncleanKey:
			records = append(records, m.uncleanElections(configs, topic)...)
		}
	}
	return records
}

// voidELR forgets who is eligible where somebody leads: he goes on by the other number. Where nobody does nothing was acknowledged
// since, and without the eligible leaders only an unclean election could end that, as in Kafka. "" stands for all topics.
func (m *Machine) voidELR(topic string) []record.Record {
	var changes []record.Record
	orphaned := false
	for t := range m.current.Topics(topic) {
		if topic != "" && t.Name != topic {
			break
		}
		for n, p := range t.Partitions {
			switch {
			case len(p.ELR) == 0 && len(p.LastKnownELR) == 0:
			case p.Leader == model.NoBroker && len(p.ISR) == 0:
				orphaned = true
			default:
				c := record.NewPartitionChange(int32(n), t.ID)
				c.EligibleLeaderReplicas, c.LastKnownELR = []model.BrokerID{}, []model.BrokerID{}
				changes = append(changes, c)
			}
		}
	}
	if !orphaned && len(changes) > 0 {
		return []record.Record{&record.ClearElr{TopicName: topic}} // one for all of them
	}
	return changes
}

// uncleanElections looks at the state with the new configs in it, since a topic may override what changed for all.
func (m *Machine) uncleanElections(configs []record.Record, topic string) []record.Record {
	after := m.after(configs)
	var records []record.Record
	for t := range after.Topics(topic) {
		if topic != "" && t.Name != topic {
			break
		}
		if m.options.Rules.TopicValue(after, t.Name, uncleanKey) != "true" {
			continue
		}
		for n, p := range t.Partitions {
			if p.Leader != model.NoBroker {
				continue
			}
			c := m.change(t, int32(n))
			c.election = electUnclean
			records = appendChange(records, c.record())
		}
	}
	return records
}

// after is the image as it would be with records that are not appended yet.
func (m *Machine) after(records []record.Record) *image.Image {
	e := m.current.Edit()
	for _, r := range records {
		err := e.Apply(m.current.Offset, m.epoch, r)
		invariant.Check(err == nil, "controller: its own record does not replay: %v", err)
	}
	i, _ := e.Publish()
	return i
}

// resource names what a request is about; kinds have the same numbers in requests and records.
func resource(kind kmsg.ConfigResourceType, name string) image.ConfigResource {
	return image.ConfigResource{Type: image.ResourceType(kind), Name: name}
}

// resourceKey tells resources of one request apart.
func resourceKey(kind kmsg.ConfigResourceType, name string) string {
	return strconv.Itoa(int(kind)) + " " + name
}

func incrementalResult(kind kmsg.ConfigResourceType, name string, err error) kmsg.IncrementalAlterConfigsResponseResource {
	resp := kmsg.NewIncrementalAlterConfigsResponseResource()
	resp.ResourceType, resp.ResourceName, resp.ErrorCode, resp.ErrorMessage = kind, name, codeOf(err), message(err)
	return resp
}

func alterResult(kind kmsg.ConfigResourceType, name string, err error) kmsg.AlterConfigsResponseResource {
	resp := kmsg.NewAlterConfigsResponseResource()
	resp.ResourceType, resp.ResourceName, resp.ErrorCode, resp.ErrorMessage = kind, name, codeOf(err), message(err)
	return resp
}
