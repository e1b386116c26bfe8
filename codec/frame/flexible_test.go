package frame_test

import (
	"testing"

	"troupe/codec/frame"
)

// flexibleFrom is by API key the first flexible version as facts/apis.csv has it for Kafka 4.4: none for an API without
// one, gone for those that Kafka 4 has not any more.
var flexibleFrom = [...]int16{
	9, 12, 6, 9, gone, gone, gone, gone, 8, 6,
	3, 6, 4, 4, 4, 5, 3, none, 3, 5,
	4, 2, 2, 4, 3, 3, 3, 1, 3, 2,
	2, 2, 4, 2, 2, 2, 2, 2, 2, 2,
	2, 2, 2, 2, 1, 0, 0, none, 1, 1,
	0, 0, 0, 1, 1, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0,
}

const (
	none = int16(-1)
	gone = int16(-2)
)

func TestFlexibleVersionsAreKafkas(t *testing.T) {
	for key, first := range flexibleFrom {
		if first == gone {
			continue
		}
		for version := int16(0); version < 20; version++ {
			if got := frame.Flexible(int16(key), version); got != (first != none && version >= first) {
				t.Errorf("key %d version %d: %v", key, version, got)
			}
		}
	}
	for _, key := range []int16{-1, int16(len(flexibleFrom)), 12345} {
		if frame.Flexible(key, 0) {
			t.Errorf("key %d is not known, but flexible", key)
		}
	}
}
