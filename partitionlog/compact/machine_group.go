package compact

import (
	"math"

	"troupe/internal/model"
)

// Group puts neighbouring segments together that fit one file of the topic's size, so that segments which lost most of
// their records do not stay as many small files. end is the offset after the last segment. The result are the lengths
// of the groups, in order.
func Group(segments []Segment, end model.Offset, p Policy) (lengths []int) {
	for from := 0; from < len(segments); {
		n := 1
		bytes, index, times := segments[from].Bytes, segments[from].IndexBytes, segments[from].TimeBytes
		for ; from+n < len(segments); n++ {
			s := segments[from+n]
			if bytes += s.Bytes; bytes > p.SegmentBytes {
				break
			}
			if index += s.IndexBytes; index > p.IndexBytes {
				break
			}
			if times += s.TimeBytes; times > p.IndexBytes {
				break
			}
			// Index entries count offsets from the base in 31 bits. A segment without records has no entries.
			next := end
			if from+n+1 < len(segments) {
				next = segments[from+n+1].Base
			}
			if s.Bytes > 0 && next-1-segments[from].Base > math.MaxInt32 {
				break
			}
		}
		lengths = append(lengths, n)
		from += n
	}
	return lengths
}
