package console_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

type groupRow struct {
	ID, State, Type string
	Members         int
	Lag, LagMs      *int64
}

type groupList struct {
	Measured int64
	Total    int
	Groups   []groupRow
}

type groupDetail struct {
	groupRow
	Epoch    int
	Assignor string
	Seats    []struct {
		ClientID, Host string
		Partitions     int
	}
	Partitions []struct {
		Topic          string
		Partition      int
		Committed, End *int64
		Lag, LagMs     *int64
		Member         string
	}
}

func TestThePageGetsTheGroupsThatAreFurthestBehindFirst(t *testing.T) {
	n := startNode(t, "group.lag.interval.ms=100")
	n.create("orders", 2)
	n.produce("orders", 0, "a", "b", "c")
	n.commit("behind", "orders", 1, 0)
	n.commit("abreast", "orders", 3)
	var list groupList
	n.eventually("lags are measured", func() bool {
		list = read[groupList](n, "/groups")
		return list.Total == 2 && list.Groups[0].Lag != nil && list.Groups[1].Lag != nil
	})
	first, second := list.Groups[0], list.Groups[1]
	if first.ID != "behind" || *first.Lag != 2 || first.LagMs == nil || *first.LagMs < 1 || first.State != "Empty" || first.Type != "classic" {
		t.Errorf("the one that is behind: %+v", first)
	}
	if second.ID != "abreast" || *second.Lag != 0 || second.LagMs == nil || *second.LagMs != 0 {
		t.Errorf("the one that has read all: %+v", second)
	}
	if list.Measured == 0 {
		t.Error("it is not told when lags were measured")
	}
	if some := read[groupList](n, "/groups?match=rea&limit=5"); some.Total != 1 || some.Groups[0].ID != "abreast" {
		t.Errorf("groups with \"rea\" in their ids: %+v", some)
	}
	if status, _ := n.ask("GET", "/groups?name=absent"); status != 404 {
		t.Errorf("a group that is not there: %d", status)
	}
}

func TestThePageGetsAGroupWithItsMembersAndPartitions(t *testing.T) {
	n := startNode(t, "group.initial.rebalance.delay.ms=0")
	for _, c := range []struct {
		group, kind string
		more        []kgo.Opt
	}{
		{"old", "classic", []kgo.Opt{kgo.Balancers(kgo.RangeBalancer())}},
		{"new", "consumer", []kgo.Opt{kgo.ServerSideBalancer(), kgo.Balancers(kgo.RangeBalancer())}},
	} {
		topic := "of-" + c.group
		n.create(topic, 2)
		n.produce(topic, 1, "a", "b", "c")
		member, err := kgo.NewClient(append(c.more, kgo.SeedBrokers(n.bootstrap), kgo.ConsumerGroup(c.group), kgo.ConsumeTopics(topic),
			kgo.ClientID("reader"), kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(member.CloseAllowingRebalance)
		for read := 0; read < 3; {
			read += member.PollRecords(n.context(), 3).NumRecords()
		}
		if err := member.CommitUncommittedOffsets(n.context()); err != nil {
			t.Fatal(err)
		}
		n.produce(topic, 1, "d")
		var g groupDetail
		n.eventually("the group has read", func() bool {
			g = read[groupDetail](n, "/groups?name="+c.group)
			return len(g.Partitions) == 2 && g.Partitions[1].Committed != nil && g.State == "Stable"
		})
		if g.Type != c.kind || g.Assignor != "range" || g.Epoch < 1 || g.Members != 1 || len(g.Seats) != 1 {
			t.Fatalf("%s: %+v", c.group, g)
		}
		if s := g.Seats[0]; s.ClientID != "reader" || s.Host != "127.0.0.1" || s.Partitions != 2 {
			t.Errorf("%s: its member is %+v", c.group, s)
		}
		last := g.Partitions[1]
		if last.Topic != topic || last.Partition != 1 || last.Member == "" || last.End == nil || *last.End-*last.Committed != 1 || *last.Lag != 1 {
			t.Errorf("%s: its second partition is %+v", c.group, last)
		}
		if age := last.LagMs; age == nil || *age < 0 || *age > patience.Milliseconds() || g.Lag == nil || *g.Lag != 1 {
			t.Errorf("%s is behind by %+v", c.group, g.groupRow)
		}
	}
}
