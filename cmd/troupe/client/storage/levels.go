package storage

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"troupe/actors/controller"
	"troupe/cluster/record"
	"troupe/cmd/troupe/client/level"
	"troupe/cmd/troupe/client/option"
)

const kraftVersion = "kraft.version"

// levels are those that the cluster begins with, metadata.version among them.
type levels map[string]int16

// chosen gives the levels of a release with changes over them. What a release sets by default and this software does not
// have is left out; what is asked for by name and is not there is refused.
func chosen(release string, changes []string, dynamic bool) (levels, level.Release, error) {
	asked := levels{}
	for _, text := range changes {
		name, number, err := level.Parse(text)
		if err != nil {
			return nil, level.Release{}, err
		}
		asked[name] = number
	}
	r, err := releaseFor(release, asked)
	if err != nil {
		return nil, r, err
	}
	all := levels{level.MetadataVersion: r.Level}
	for _, f := range level.Known {
		number, named := asked[f.Name]
		delete(asked, f.Name)
		switch {
		case f.Name == kraftVersion:
			if err := checkKRaft(number, named, dynamic); err != nil {
				return nil, r, err
			}
			continue
		case !named:
			number = min(f.At(r), supported(f.Name).MaxSupportedVersion)
		}
		if err := check(f, number, r); err != nil {
			return nil, r, err
		}
		all[f.Name] = number
	}
	delete(asked, level.MetadataVersion)
	for name := range asked {
		return nil, r, option.Fail("Unsupported feature: %s. Supported features are: %s", name, strings.Join(featureNames(), ", "))
	}
	return all, r, nil
}

// releaseFor takes the release from the option or from --feature metadata.version; one of the two.
func releaseFor(name string, asked levels) (level.Release, error) {
	number, named := asked[level.MetadataVersion]
	switch {
	case named && name != "":
		return level.Release{}, option.Fail("Use --release-version instead of --feature metadata.version=X to avoid ambiguity.")
	case named:
		name = level.Text(level.MetadataVersion, number)
	case name == "":
		return level.Newest(), nil
	}
	return level.Stable(name)
}

// supported is the range of a feature that this software has.
func supported(name string) record.FeatureRange {
	for _, f := range controller.SupportedFeatures {
		if f.Name == name {
			return f
		}
	}
	return record.FeatureRange{}
}

func check(f level.Feature, number int16, r level.Release) error {
	for _, l := range f.Levels {
		if l.Number != number {
			continue
		}
		if most := supported(f.Name).MaxSupportedVersion; number > most {
			return option.Fail("%s=%d is not supported here: at most %d", f.Name, number, most)
		}
		if r.Level < l.Needs {
			return option.Fail("%s could not be set to %d because it depends on metadata.version level %d", f.Name, number, l.Needs)
		}
		return nil
	}
	return option.Fail("No feature:%s with feature level %d", f.Name, number)
}

// checkKRaft holds the level of the quorum against how its voters are named (KIP-853).
func checkKRaft(number int16, named, dynamic bool) error {
	switch {
	case named && number == 0 && dynamic:
		return option.Fail("Cannot set kraft.version to 0 if controller.quorum.voters is empty and one of the flags --standalone, " +
			"--initial-controllers, or --no-initial-controllers is used. For dynamic controllers support, try removing the --feature flag for kraft.version.")
	case named && number != 0 && !dynamic:
		return option.Fail("Cannot set kraft.version to %d unless controller.quorum.voters is empty and one of the flags --standalone, "+
			"--initial-controllers, or --no-initial-controllers is used. For dynamic controllers support, try using one of --standalone, "+
			"--initial-controllers, or --no-initial-controllers and removing controller.quorum.voters.", number)
	}
	return nil
}

func featureNames() []string {
	var names []string
	for _, f := range level.Known {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	return names
}

// records are the first of the cluster, in Kafka's order: metadata.version, then the features that are on by name.
func (l levels) records() []record.Record {
	first := []record.Record{&record.FeatureLevel{Name: level.MetadataVersion, Level: l[level.MetadataVersion]}}
	for _, name := range slices.Sorted(maps.Keys(l)) {
		if name != level.MetadataVersion && l[name] > 0 {
			first = append(first, &record.FeatureLevel{Name: name, Level: l[name]})
		}
	}
	return first
}

// String is how the script shows them: the text of Java's classes.
func (l levels) String() string {
	var shown []string
	for _, r := range l.records() {
		f := r.(*record.FeatureLevel)
		shown = append(shown, fmt.Sprintf("ApiMessageAndVersion(FeatureLevelRecord(name='%s', featureLevel=%d) at version 0)", f.Name, f.Level))
	}
	return fmt.Sprintf("BootstrapMetadata(records=[%s], metadataVersionLevel=%d, source=format command)", strings.Join(shown, ", "), l[level.MetadataVersion])
}
