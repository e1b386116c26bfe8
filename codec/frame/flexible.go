package frame

import (
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// neverFlexible is above every version.
const neverFlexible = math.MaxInt16

// FirstPrivate is the lowest API key that is Troupe's own (package private). They have been flexible from the first.
const FirstPrivate int16 = 32000

// firstFlexible is, by API key, the first version whose strings are compact and whose structs carry tagged fields. An API
// that is flexible stays so in later versions.
var firstFlexible = flexibleVersions()

func flexibleVersions() []int16 {
	var first []int16
	for key := int16(0); key <= kmsg.MaxKey; key++ {
		at := int16(neverFlexible)
		if request := kmsg.RequestForKey(key); request != nil {
			for version := int16(0); version <= request.MaxVersion(); version++ {
				request.SetVersion(version)
				if request.IsFlexible() {
					at = version
					break
				}
			}
		}
		first = append(first, at)
	}
	return first
}

// Flexible tells whether requests of that API and version are in the flexible encoding, and have the longer headers.
// It is false for an API that is not known here.
func Flexible(key, version int16) bool {
	return key >= 0 && int(key) < len(firstFlexible) && version >= firstFlexible[key] || key >= FirstPrivate
}
