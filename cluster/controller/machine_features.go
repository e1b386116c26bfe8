package controller

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cluster/image"
	"troupe/cluster/record"
	"troupe/codec/kerr"
)

// Upgrade types of UpdateFeatures (KIP-584, KIP-778).
const (
	upgradeOnly     int8 = 1
	safeDowngrade   int8 = 2
	unsafeDowngrade int8 = 3
)

// needs is the least metadata.version for a feature at a level above 0.
var needs = map[string]record.MetadataVersion{
	image.GroupVersionFeature:       22,
	image.TransactionVersionFeature: 22,
	image.ELRVersionFeature:         record.EligibleLeaders,
	image.ShareVersionFeature:       26,
	image.StreamsVersionFeature:     28,
}

// updateFeatures finalizes levels, all of them or none.
// Errors: 42 unknown upgrade type or repeats, 95 a level that cannot be.
func (m *Machine) updateFeatures(r *kmsg.UpdateFeaturesRequest) outcome {
	resp := reply[*kmsg.UpdateFeaturesResponse](r)
	var records []record.Record
	for _, each := range distinct(len(r.FeatureUpdates), func(i int) string { return r.FeatureUpdates[i].Feature }) {
		u := r.FeatureUpdates[each.first]
		change, err := m.featureChange(u, upgradeType(r.Version, u), r.FeatureUpdates)
		if each.repeated {
			err = fail(kerr.InvalidRequest, "Duplicate feature name.")
		}
		if err != nil {
			code, _ := kerr.Of(err)
			err = fail(code, fmt.Sprintf("The update failed for all features since the following feature had an error: %v", err))
			resp.ErrorCode, resp.ErrorMessage = codeOf(err), message(err)
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
		records = nil
	}
	return outcome{records, resp}
}

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
func (m *Machine) featureChange(u kmsg.UpdateFeaturesRequestFeatureUpdate, kind int8, all []kmsg.UpdateFeaturesRequestFeatureUpdate) (record.Record, error) {
	name, level, now := u.Feature, u.MaxVersionLevel, m.current.Feature(u.Feature)
	invalid := func(why string) error {
		return fail(kerr.InvalidUpdateVersion, fmt.Sprintf("Invalid update version %d for feature %s. %s", level, name, why))
	}
	if kind != upgradeOnly && kind != safeDowngrade && kind != unsafeDowngrade {
		return nil, fail(kerr.InvalidRequest, fmt.Sprintf("The controller does not support the given upgrade type %d.", kind))
	}
	if level < 0 {
		return nil, invalid("A feature version cannot be less than 0.")
	}
	if err := m.supports(name, level); err != "" {
		return nil, invalid(err)
	}
	if level < now && kind == upgradeOnly {
		return nil, invalid("Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade.")
	}
	if name == image.MetadataVersionFeature {
		if level < now {
			return nil, invalid(fmt.Sprintf("Refusing to perform the requested downgrade from %s to %s: records of the newer version may be in the log.",
				record.MetadataVersion(now), record.MetadataVersion(level)))
		}
	} else if need := needs[name]; level > 0 && m.metadataVersionAfter(all) < need {
		return nil, invalid(fmt.Sprintf("%s=%d needs metadata.version %s", name, level, need))
	}
	if level == now {
		return nil, nil
	}
	return &record.FeatureLevel{Name: name, Level: level}, nil
}

// supports asks this node and every registered broker; "" is yes.
func (m *Machine) supports(name string, level int16) string {
	local := append(slices.Clone(m.options.Features), record.FeatureRange{
		Name:                image.MetadataVersionFeature,
		MinSupportedVersion: int16(record.MinMetadataVersion), MaxSupportedVersion: int16(record.LatestMetadataVersion),
	})
	if why := within(local, name, level); why != "" {
		return fmt.Sprintf("Local controller %d %s", m.options.NodeID, why)
	}
	for b := range m.current.Brokers() {
		if why := within(b.Features, name, level); why != "" {
			return fmt.Sprintf("Broker %d %s", b.ID, why)
		}
	}
	return ""
}

func within(ranges []record.FeatureRange, name string, level int16) string {
	i := slices.IndexFunc(ranges, func(f record.FeatureRange) bool { return f.Name == name })
	if i < 0 {
		if level == 0 {
			return ""
		}
		return "does not support this feature."
	}
	if f := ranges[i]; level != 0 && (level < f.MinSupportedVersion || level > f.MaxSupportedVersion) {
		return fmt.Sprintf("only supports versions %d-%d", f.MinSupportedVersion, f.MaxSupportedVersion)
	}
	return ""
}

// metadataVersionAfter is the level once the whole request is done.
func (m *Machine) metadataVersionAfter(all []kmsg.UpdateFeaturesRequestFeatureUpdate) record.MetadataVersion {
	for _, u := range all {
		if u.Feature == image.MetadataVersionFeature {
			return record.MetadataVersion(u.MaxVersionLevel)
		}
	}
	return m.current.MetadataVersion()
}
