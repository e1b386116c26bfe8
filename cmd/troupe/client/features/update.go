package features

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/level"
	"troupe/cmd/troupe/client/option"
)

// Upgrade types of UpdateFeatures (KIP-584, KIP-778): an unsafe downgrade may lose metadata that the older level has no
// place for.
const (
	upgrade         = 1
	safeDowngrade   = 2
	unsafeDowngrade = 3
)

// update is one of the commands upgrade, downgrade and disable.
type update struct {
	shared                      *shared
	verb, past                  string
	metadata, release, features option.Text
}

func (u *update) Define(fs *pflag.FlagSet) {
	fs.Bool("dry-run", false, "only say whether it could be done")
	if u.verb != "upgrade" {
		fs.Bool("unsafe", false, "even if metadata may be lost")
	}
	if u.verb == "disable" {
		option.Var(fs, &u.features, "feature", "NAME", "feature, repeatable")
		return
	}
	option.Var(fs, &u.features, "feature", "NAME=LEVEL", "feature and level, repeatable")
	option.Var(fs, &u.release, "release-version", "VERSION", "release whose levels all features take")
	option.Var(fs, &u.metadata, "metadata", "VERSION", "old form of --feature metadata.version")
}

// Complain implements option.Complainer.
func (u *update) Complain(err error) error { return misuse(option.ArgumentError(err).Error()) }

func (u *update) Run(ctx context.Context, fs *pflag.FlagSet, s option.Streams) error {
	client, err := u.shared.open(s)
	if err != nil {
		return err
	}
	defer client.Close()
	levels, err := u.levels(s)
	if err != nil {
		return err
	}
	// The script connects before it looks at what is to be changed, so a missing broker is told first.
	if len(levels) == 0 {
		return option.Fail("You must specify at least one feature to %s", u.verb)
	}
	req := kmsg.NewPtrUpdateFeaturesRequest()
	req.TimeoutMillis = int32(client.Timeout.Milliseconds())
	req.ValidateOnly = fs.Changed("dry-run")
	names := slices.Sorted(maps.Keys(levels))
	for _, name := range names {
		f := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
		f.Feature, f.MaxVersionLevel = name, levels[name]
		f.UpgradeType = u.upgradeType(fs)
		f.AllowDowngrade = f.UpgradeType != upgrade // version 0
		req.FeatureUpdates = append(req.FeatureUpdates, f)
	}
	resp, err := connection.Ask(ctx, client, "updateFeatures", req.RequestWith)
	if err != nil {
		return err
	}
	return u.report(fs, s, names, levels, failures(resp, names))
}

// upgradeType is that of the command. A level that does not fit it (a lower one in an upgrade) is the controller's to
// refuse.
func (u *update) upgradeType(fs *pflag.FlagSet) int8 {
	switch {
	case u.verb == "upgrade":
		return upgrade
	case fs.Changed("unsafe"):
		return unsafeDowngrade
	}
	return safeDowngrade
}

// levels reads which features go to which level.
func (u *update) levels(s option.Streams) (map[string]int16, error) {
	// A release stands for a level of every feature, so it excludes naming one.
	if u.release.Given() {
		if u.metadata.Given() || u.features.Given() {
			return nil, option.Fail("Can not specify `release-version` with other feature flags.")
		}
		return u.releaseLevels()
	}
	levels := map[string]int16{}
	if u.metadata.Given() {
		fmt.Fprintln(s.Out, " `metadata` flag is deprecated and may be removed in a future release.")
		r, err := level.Of(u.metadata.Last())
		if err != nil {
			return nil, err
		}
		levels[level.MetadataVersion] = r.Level
	}
	for _, text := range u.features.All() {
		name, number := text, int16(0)
		if u.verb != "disable" {
			var err error
			if name, number, err = level.Parse(text); err != nil {
				return nil, err
			}
		}
		// --metadata counts as naming metadata.version.
		if _, again := levels[name]; again {
			return nil, option.Fail("Feature %s was specified more than once.", name)
		}
		levels[name] = number
	}
	return levels, nil
}

// releaseLevels gives the levels of --release-version. An upgrade leaves out what the release does not have.
func (u *update) releaseLevels() (map[string]int16, error) {
	r, err := level.Of(u.release.Last())
	if err != nil {
		return nil, err
	}
	levels := map[string]int16{level.MetadataVersion: r.Level}
	for _, f := range level.Known {
		if at := f.At(r); at > 0 || u.verb != "upgrade" {
			levels[f.Name] = at
		}
	}
	return levels, nil
}

// failures gives the error of each feature that was not updated. From version 2 on one error stands for all.
func failures(resp *kmsg.UpdateFeaturesResponse, names []string) map[string]error {
	failed := map[string]error{}
	if err := kafkatext.Answer(resp.ErrorCode, resp.ErrorMessage); err != nil {
		for _, name := range names {
			failed[name] = err
		}
	}
	for _, r := range resp.Results {
		if err := kafkatext.Answer(r.ErrorCode, r.ErrorMessage); err != nil {
			failed[r.Feature] = err
		}
	}
	return failed
}

// report tells of each feature in the order of names, of failures with their reason; one failure makes the command fail.
func (u *update) report(fs *pflag.FlagSet, s option.Streams, names []string, levels map[string]int16, failed map[string]error) error {
	// A dry run says what could be done, in the same lines.
	could, was := "Could not", "was"
	if fs.Changed("dry-run") {
		could, was = "Can not", "can be"
	}
	results := map[string]string{}
	for _, name := range names {
		to := fmt.Sprintf(" to %d", levels[name])
		if u.verb == "disable" {
			to = ""
		}
		line := fmt.Sprintf("%s %s %s%s.", name, was, u.past, to)
		results[name] = "ok"
		if err := failed[name]; err != nil {
			line = fmt.Sprintf("%s %s %s%s. %s", could, u.verb, name, to, err)
			results[name] = err.Error()
		}
		if !option.JSON(fs) {
			fmt.Fprintln(s.Out, line)
		}
	}
	if option.JSON(fs) {
		if err := option.WriteJSON(s, results); err != nil {
			return err
		}
	}
	if len(failed) > 0 {
		return option.Fail("%d out of %d operation(s) failed.", len(failed), len(names))
	}
	return nil
}
