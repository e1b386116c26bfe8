package features

import (
	"testing"
	"troupe/cmd/troupe/client/level"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The lines are those of kafka-features describe 4.3.1.
func TestFeaturesAreDescribedInTheScriptsColumns(t *testing.T) {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.SupportedFeatures = []kmsg.ApiVersionsResponseSupportedFeature{
		{Name: "metadata.version", MinVersion: 7, MaxVersion: 30}, {Name: "kraft.version", MaxVersion: 1},
	}
	resp.FinalizedFeatures = []kmsg.ApiVersionsResponseFinalizedFeature{{Name: "metadata.version", MaxVersionLevel: 30, MinVersionLevel: 30}}
	resp.FinalizedFeaturesEpoch = 2920
	want := []string{
		"Feature: kraft.version                             SupportedMinVersion: 0                SupportedMaxVersion: 1                FinalizedVersionLevel: 0                Epoch: 2920",
		"Feature: metadata.version                          SupportedMinVersion: 3.3-IV3          SupportedMaxVersion: 4.3-IV0          FinalizedVersionLevel: 4.3-IV0          Epoch: 2920",
	}
	for i, got := range levelsOf(resp) {
		if got.String() != want[i] {
			t.Errorf("\n got %s\nwant %s", got, want[i])
		}
	}
	resp.FinalizedFeaturesEpoch = -1
	if got := levelsOf(resp)[0].String(); got[len(got)-len("Epoch: -"):] != "Epoch: -" {
		t.Errorf("without an epoch: %s", got)
	}
}

func TestALevelThatIsNotKnownIsShownByItsNumber(t *testing.T) {
	if got := level.Text(level.MetadataVersion, 99); got != "UNKNOWN 99" {
		t.Errorf("got %s", got)
	}
}

func TestOneErrorOfTheRequestFailsEveryFeature(t *testing.T) {
	message := "no"
	resp := kmsg.NewPtrUpdateFeaturesResponse()
	resp.ErrorCode, resp.ErrorMessage = 96, &message
	if failed := failures(resp, []string{"a", "b"}); len(failed) != 2 || failed["b"].Error() != "no" {
		t.Errorf("got %v", failed)
	}
}
