package reassignpartitions

import (
	"slices"
	"testing"

	"troupe/cmd/troupe/client/assignment"
	"troupe/internal/model"
)

// The complaints are those of kafka-reassign-partitions.
func TestMovesThatNoClusterCouldDoAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{"partitions":[]}`: "Partition reassignment list cannot be empty",
		`{"partitions":[{"topic":"a","partition":0,"replicas":[]}]}`:                                                           "Partition replica list cannot be empty",
		`{"partitions":[{"topic":"a","partition":0,"replicas":[1,2,1,1]}]}`:                                                    "Partition replica lists may not contain duplicate entries: a-0 contains multiple entries for 1",
		`{"partitions":[{"topic":"a","partition":0,"replicas":[1]},{"topic":"a","partition":0,"replicas":[2]}]}`:               "Partition reassignment contains duplicate topic partitions: a-0",
		`{"version":2,"partitions":[{"topic":"a","partition":0,"replicas":[1]}]}`:                                              "Not supported version field value 2",
		`{"version":1,"partitions":[{"topic":"a","partition":0,"replicas":[1,2],"log_dirs":["any"]}]}`:                         "Size of replicas list [1, 2] is different from size of log dirs list [any] for partition a-0",
		`{"version":1,"partitions":[{"topic":"a","partition":0,"replicas":[1],"log_dirs":[]}]}`:                                "Size of replicas list [1] is different from size of log dirs list [] for partition a-0",
		`{"version":1,"partitions":[{"topic":"a","partition":0,"replicas":[1],"log_dirs":["any"]}]}`:                           "",
		`{"partitions":[{"topic":"a","partition":0,"replicas":[3,1]},{"topic":"a","partition":1,"replicas":[2]}],"version":1}`: "",
	} {
		all, err := parseMoves([]byte(text))
		if err == nil {
			err = executable(all)
		}
		if got := ""; err != nil || want != "" {
			if err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("%s:\n got %s\nwant %s", text, got, want)
			}
		}
	}
}

func TestHowFarAReplicaIsToItsDirectoryIsSaidInTheWordsOfTheScript(t *testing.T) {
	r := assignment.Replica{TopicPartition: model.TopicPartition{Topic: "a", Partition: 3}, Broker: 2}
	for _, c := range []struct {
		current, future string
		want            string
		over            bool
	}{
		{"/x", "/y", "Reassignment of replica a-3-2 is still in progress.", false},
		{"/x", "/z", "Partition a-3 on broker 2 is being moved to log dir /z instead of /y.", false},
		{"/y", "", "Reassignment of replica a-3-2 completed successfully.", true},
		{"/x", "", "Partition a-3 on broker 2 is not being moved from log dir /x to /y.", true},
		{"", "", "Partition a-3 is not found in any live log dir on broker 2. There is likely an offline log directory on the broker.", false},
		{"", "/y", "Partition a-3 is not found in any live log dir on broker 2. There is likely an offline log directory on the broker.", false},
	} {
		s := dirState{r, assignment.Directory{Current: c.current, Future: c.future}, "/y"}
		if got := s.String(); got != c.want || over([]dirState{s}) != c.over {
			t.Errorf("got %s, over %v, want %s", got, over([]dirState{s}), c.want)
		}
	}
}

// Partition 0 moves from 1,2 to 2,3; partition 1 moves from 1 to 3 already, and is left out of the file.
func TestAThrottleHoldsForSourcesAndDestinationsOfAllMoves(t *testing.T) {
	zero, one := model.TopicPartition{Topic: "a", Partition: 0}, model.TopicPartition{Topic: "a", Partition: 1}
	l := limitsOf([]move{{"a", 0, []int32{2, 3}, nil}},
		map[model.TopicPartition]assignment.Move{one: {Replicas: []int32{3, 1}, Adding: []int32{3}, Removing: []int32{1}}},
		[]assignment.Target{{TopicPartition: zero, Replicas: []int32{1, 2}}})
	want := assignment.Throttled{Topic: "a", Leaders: "0:1,0:2,1:1", Followers: "0:3,1:3"}
	if len(l.topics) != 1 || l.topics[0] != want || !slices.Equal(l.brokers, []int32{1, 2, 3}) {
		t.Errorf("limits %+v", l)
	}
}

func TestHowFarAMoveIsIsSaidInTheWordsOfTheScript(t *testing.T) {
	for _, c := range []struct {
		s    state
		want string
	}{
		{state{"a-0", false, []int32{1, 2, 3}, []int32{3}, nil}, "Reassignment of partition a-0 is still in progress."},
		{state{"a-0", true, []int32{3, 1}, []int32{3, 1}, nil}, "Reassignment of partition a-0 is completed."},
		{state{"a-0", true, []int32{1, 3}, []int32{3, 1}, nil}, "There is no active reassignment of partition a-0, but replica set is 1,3 rather than 3,1."},
		{state{"a-9", true, nil, []int32{3}, nil}, "There is no active reassignment of partition a-9, but replica set is  rather than 3."},
	} {
		if got := c.s.String(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}
