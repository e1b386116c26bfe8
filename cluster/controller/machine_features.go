package controller

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cluster/image"
	"troupe/cluster/record"
	"troupe/codec/kerr"
)

// kraftVersionFeature is finalized in the quorum's own records (KIP-853).
const kraftVersionFeature = "kraft.version"

// Upgrade types of UpdateFeatures (KIP-584, KIP-778).
const (
	upgradeOnly int8 = 1
	// safeDowngrade must lose nothing.
	safeDowngrade int8 = 2
	// unsafeDowngrade may lose what only the newer version knows.
	unsafeDowngrade int8 = 3
)

// needs is the least metadata.version for a feature at a level above 0. The others have no records in the metadata log.
var needs = map[string]record.MetadataVersion{image.ELRVersionFeature: record.EligibleLeaders}

// updateFeatures finalizes levels, all of them or none.
// Of a feature named twice the last counts.
//
// Versions 0 to 2: 0 has a flag for downgrades, 1 the kinds of them and validation (KIP-778), 2 no result a feature.
//
// Error: 95, with the reason, when a level is negative, unknown to this node, a registered broker or another controller, lower than the
// finalized one without leave or with what it wrote in the log, or in need of a higher metadata.version.
func (m *Machine) updateFeatures(at At, r *kmsg.UpdateFeaturesRequest) outcome {
	resp := reply[*kmsg.UpdateFeaturesResponse](r)
	var records []record.Record
	for _, each := range distinct(len(r.FeatureUpdates), func(i int) string { return r.FeatureUpdates[i].Feature }) {
		u := r.FeatureUpdates[each.last]
		change, err := m.featureChange(at, u, upgradeType(r.Version, u), r.FeatureUpdates)
		if err != nil {
			code, _ := kerr.Of(err)
			err = fail(code, fmt.Sprintf("The update failed for all features since the following feature had an error: %v", err))
			resp.ErrorCode, resp.ErrorMessage, resp.Results = codeOf(err), message(err), nil
			return outcome{response: resp}
		}
		if change != nil {
			records = append(records, change)
		}
		if r.Version < 2 {
			result := kmsg.NewUpdateFeaturesResponseResult()
			result.Feature = u.Feature
			resp.Results = append(resp.Results, result)
		}
	}
	if r.ValidateOnly {
		return outcome{response: resp}
	}
	if slices.ContainsFunc(r.FeatureUpdates, func(u kmsg.UpdateFeaturesRequestFeatureUpdate) bool {
		return u.Feature == image.ELRVersionFeature && u.MaxVersionLevel > 0
	}) {
		records = append(m.oneMinISR(), records...)
	}
	return outcome{records, resp}
}

// oneMinISR makes min.insync.replicas one number for the whole cluster before eligible leaders are chosen by it (KIP-966): a
// leader with another one than the controller's would acknowledge what those who are eligible do not have.
func (m *Machine) oneMinISR() []record.Record {
	var records []record.Record
	all := image.ConfigResource{Type: image.BrokerResource}
	value, known := m.options.Initial[minISRKey]
	if _, set := m.current.Config(all).Get(minISRKey); known && !set {
		records = append(records, &record.Config{ResourceType: int8(all.Type), Name: minISRKey, Value: &value})
	}
	for r, c := range m.current.Configs() {
		if _, set := c.Get(minISRKey); set && r.Type == image.BrokerResource && r.Name != "" {
			records = append(records, &record.Config{ResourceType: int8(r.Type), ResourceName: r.Name, Name: minISRKey})
		}
	}
	return append(records, m.consequences(records)...)
}

// upgradeType reads version 0's flag as the safe kind of downgrade.
func upgradeType(version int16, u kmsg.UpdateFeaturesRequestFeatureUpdate) int8 {
	switch {
	case version > 0:
		return u.UpgradeType
	case u.AllowDowngrade:
		return safeDowngrade
	}
	return upgradeOnly
}

// featureChange gives the record that finalizes a level, nil when it is finalized already.
func (m *Machine) featureChange(at At, u kmsg.UpdateFeaturesRequestFeatureUpdate, kind int8, all []kmsg.UpdateFeaturesRequestFeatureUpdate) (record.Record, error) {
	name, level, now := u.Feature, u.MaxVersionLevel, m.current.Feature(u.Feature)
	invalid := func(why string) error {
		return fail(kerr.InvalidUpdateVersion, fmt.Sprintf("Invalid update version %d for feature %s. %s", level, name, why))
	}
	switch {
	case kind != upgradeOnly && kind != safeDowngrade && kind != unsafeDowngrade:
		return nil, invalid("The controller does not support the given upgrade type.")
	case level < 0:
		return nil, invalid("A feature version cannot be less than 0.")
	case name == kraftVersionFeature:
		return nil, m.kraftVersionChange(level, invalid)
	}
	if why := m.supports(at, name, level); why != "" {
		return nil, invalid(why)
	}
	switch {
	case level < now && kind == upgradeOnly:
		return nil, invalid("Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade.")
	case level > now && kind != upgradeOnly:
		return nil, invalid("Can't downgrade to a newer version.")
	case level == now:
		return nil, nil
	}
	if name == image.MetadataVersionFeature {
		return metadataVersionChange(now, level, kind)
	}
	if need := needs[name]; level > 0 && m.metadataVersionAfter(all) < need {
		return nil, invalid(fmt.Sprintf("%s could not be set to %d because it depends on metadata.version level %d", name, level, need))
	}
	return &record.FeatureLevel{Name: name, Level: level}, nil
}

// metadataVersionChange goes down only to a level that writes the same: records of the newer version may be in the log.
func metadataVersionChange(now, level int16, kind int8) (record.Record, error) {
	if level > now || record.MetadataVersion(now).WritesAs(record.MetadataVersion(level)) {
		return &record.FeatureLevel{Name: image.MetadataVersionFeature, Level: level}, nil
	}
	why := "Refusing to perform the requested downgrade because it might delete metadata information."
	if kind == unsafeDowngrade {
		why = "Unsafe metadata downgrade is not supported in this version."
	}
	return nil, fail(kerr.InvalidUpdateVersion, fmt.Sprintf("Unsupported metadata.version downgrade from %d to %d. %s", now, level, why))
}

// kraftVersionChange takes the level that is; it lives in the quorum's control records and changes with the voters.
func (m *Machine) kraftVersionChange(level int16, invalid func(string) error) error {
	switch now := m.options.KRaftVersion; {
	case level < now:
		return invalid("Can't downgrade the version of this feature.")
	case level > now:
		return invalid(fmt.Sprintf("Local controller %d only supports versions 0-%d", m.options.NodeID, now))
	}
	return nil
}

// supports asks this node, every registered broker, and the other controllers of the quorum; "" is yes. Controllers that are gone
// are registered for ever, in Kafka as well, where they are asked all the same: here they keep nobody from an upgrade.
func (m *Machine) supports(at At, name string, level int16) string {
	local := append(slices.Clone(m.options.Features), record.FeatureRange{
		Name:                image.MetadataVersionFeature,
		MinSupportedVersion: int16(record.MinMetadataVersion), MaxSupportedVersion: int16(record.LatestMetadataVersion),
	})
	known := slices.ContainsFunc(local, func(f record.FeatureRange) bool { return f.Name == name })
	if level == 0 && !known {
		return fmt.Sprintf("Feature %s not found.", name)
	}
	if why := within(local, name, level); why != "" {
		return fmt.Sprintf("Local controller %d %s", m.options.NodeID, why)
	}
	if level == 0 {
		return ""
	}
	for b := range m.current.Brokers() {
		if why := within(b.Features, name, level); why != "" {
			return fmt.Sprintf("Broker %d %s", b.ID, why)
		}
	}
	for c := range m.current.Controllers() {
		if c.ControllerID == m.options.NodeID || at.Quorum != nil && !at.Quorum(c.ControllerID) {
			continue
		}
		if why := within(c.Features, name, level); why != "" {
			return fmt.Sprintf("Controller %d %s", c.ControllerID, why)
		}
	}
	return ""
}

// within says why a node cannot run a level, "" when it can.
func within(ranges []record.FeatureRange, name string, level int16) string {
	i := slices.IndexFunc(ranges, func(f record.FeatureRange) bool { return f.Name == name })
	if i < 0 || level > 0 && ranges[i].MaxSupportedVersion == 0 {
		return "does not support this feature."
	}
	if f := ranges[i]; (level != 0 || f.MinSupportedVersion > 0) && (level < f.MinSupportedVersion || level > f.MaxSupportedVersion) {
		return fmt.Sprintf("only supports versions %d-%d", f.MinSupportedVersion, f.MaxSupportedVersion)
	}
	return ""
}

// metadataVersionAfter is the level once the whole request is done.
func (m *Machine) metadataVersionAfter(all []kmsg.UpdateFeaturesRequestFeatureUpdate) record.MetadataVersion {
	after := m.current.MetadataVersion()
	for _, u := range all {
		if u.Feature == image.MetadataVersionFeature {
			after = record.MetadataVersion(u.MaxVersionLevel)
		}
	}
	return after
}
