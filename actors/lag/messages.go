// Package lag knows how far behind consumer groups are, in records and in time: the age of the oldest record that a group
// has not read yet. It asks the coordinators here for what is committed, and the leaders of the partitions for their ends
// and for the times of what is read next:
//
//	actor ──look──▶ coordinators        committed offsets
//	actor ──Question──▶ Leader          one a broker: ends, and times that are not known yet
//	actor ──Report──▶ Board             for /metrics
package lag

import (
	"troupe/actors/group"
	"troupe/actors/kit"
	"troupe/internal/model"
)

// Question asks a broker about partitions that it leads. Those that it does not lead are left out of the answer.
type Question struct {
	*kit.Reply[[]Answer]
	Partitions []Wanted
}

// Wanted is a partition with the offsets that groups have committed, by rising offset.
type Wanted struct {
	At     model.TopicPartition
	Points []Point
}

// Point is an offset, and the offset of the record of which the asker has the time, model.NoOffset if it has none. The two
// differ where the log's start is behind the offset.
type Point struct{ Offset, Known model.Offset }

// Answer tells of a partition what consumers may read. Times has the milliseconds for each point, or one of the constants;
// for one with nothing left to read it is without meaning.
type Answer struct {
	At         model.TopicPartition
	Start, End model.Offset
	Times      []int64
}

const (
	// Timeless is a record without a time, or one that could not be read now.
	Timeless int64 = -1
	// Unchanged is the time that the asker has.
	Unchanged int64 = -2
)

type (
	// roundDue begins the next round.
	roundDue struct{}
	// surveyed is what one coordinator told.
	surveyed struct {
		round  uint64
		groups []group.Overview
		loaded bool
		err    error
	}
	// answered is what one broker told; nothing, if it could not.
	answered struct {
		round   uint64
		answers []Answer
	}
	// stepDue goes on with a question.
	stepDue struct{}
	// read is what a lane has read.
	read struct {
		of      *inquiry
		lookups []lookup
	}
)

func (*Question) MessageKind() string { return "lag.question" }
func (*roundDue) MessageKind() string { return "lag.round-due" }
func (*surveyed) MessageKind() string { return "lag.surveyed" }
func (*answered) MessageKind() string { return "lag.answered" }
func (*stepDue) MessageKind() string  { return "lag.step-due" }
func (*read) MessageKind() string     { return "lag.read" }
