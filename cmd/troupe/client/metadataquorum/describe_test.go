package metadataquorum

import (
	"bytes"
	"testing"
	"time"
)

// The table and the list are those that kafka-metadata-quorum of 4.3.1 prints, with its trailing tabulators.
func TestTheQuorumIsShownAsTheScriptShowsIt(t *testing.T) {
	leader := replica{ID: 1, Directory: "8PxkjuDHQ9aGrF3i_3LIgg", Endpoints: []string{endpoint("CONTROLLER", "127.0.0.1", 9192), endpoint("C", "::1", 1)},
		LogEnd: 21, LastFetch: 1796000590512, LastCaughtUp: 1796000590512, withDirectory: true}
	observer := replica{ID: 12, Directory: "AAAAAAAAAAAAAAAAAAAAAA", LogEnd: 9, LastFetch: 1796000590012, LastCaughtUp: -1}
	want := `[{"id": 1, "directoryId": "8PxkjuDHQ9aGrF3i_3LIgg", "endpoints": ["CONTROLLER://127.0.0.1:9192", "C://[::1]:1"]}, {"id": 12}]`
	if got := list([]replica{leader, observer}); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	var out bytes.Buffer
	if err := printRows(&out, []row{{leader, 0, "Leader"}, {observer, 12, "Observer"}}, true, time.UnixMilli(1796000590512)); err != nil {
		t.Fatal(err)
	}
	want = "NodeId\tDirectoryId           \tLogEndOffset\tLag\tLastFetchTimestamp\tLastCaughtUpTimestamp\tStatus  \t\n" +
		"1     \t8PxkjuDHQ9aGrF3i_3LIgg\t21          \t0  \t0 ms ago          \t0 ms ago             \tLeader  \t\n" +
		"12    \tAAAAAAAAAAAAAAAAAAAAAA\t9           \t12 \t500 ms ago        \t-1                   \tObserver\t\n"
	if out.String() != want {
		t.Errorf("\n got %s\nwant %s", out.String(), want)
	}
	if err := printRows(&out, []row{{leader, 0, "Leader"}}, true, time.UnixMilli(1)); err == nil {
		t.Error("a time that is to come is shown as how long ago it is")
	}
}

func TestTheVoterThatIsFurthestBehindIsFound(t *testing.T) {
	leader := replica{ID: 1, LogEnd: 10, LastCaughtUp: 1000}
	for _, c := range []struct {
		others      []replica
		offsets, ms int64
	}{
		{nil, 0, 0},
		{[]replica{{ID: 2, LogEnd: 7, LastCaughtUp: 800}, {ID: 3, LogEnd: 9, LastCaughtUp: 1}}, 3, 200},
		{[]replica{{ID: 2, LogEnd: 7, LastCaughtUp: -1}}, 3, -1},
	} {
		q := &standing{leader: 1, voters: append([]replica{leader}, c.others...)}
		if offsets, ms := q.furthestBehind(leader); offsets != c.offsets || ms != c.ms {
			t.Errorf("%v: %d offsets and %d ms behind, want %d and %d", c.others, offsets, ms, c.offsets, c.ms)
		}
	}
}
