package consumergroups

import (
	"bytes"
	"slices"
	"testing"

	"troupe/cmd/troupe/client/groups"
	"troupe/cmd/troupe/client/option"
	"troupe/internal/model"
)

// The expected texts are what kafka-consumer-groups of 4.3.1 printed of such groups.

func ptr[T any](v T) *T { return &v }

const memberID = "console-consumer-24794ae7-0244-48fc-a4b0-4fb38925d394"

var active = group{
	id: "g-active", state: "Stable", assignor: "range",
	members: []member{{
		id: memberID, clientID: "console-consumer", host: "/127.0.0.1",
		assigned: []model.TopicPartition{{Topic: "cga", Partition: 2}, {Topic: "cga", Partition: 0}, {Topic: "cga", Partition: 1}},
	}},
}

// both has a member of each protocol, upgraded two of the consumer protocol, one of them static (KIP-848).
var both = group{
	id: "mixed", state: "Stable", assignor: "uniform", epoch: ptr(int32(3)), targetEpoch: ptr(int32(3)),
	members: []member{
		modernMember("3cGHiMG_Q6aAhEnyaq6zJA", "", "old", false, model.TopicPartition{Topic: "h1", Partition: 1}, model.TopicPartition{Topic: "h1", Partition: 2}),
		modernMember("f0JM36XWSnK1MxWuZZD2Mg", "", "new", true, model.TopicPartition{Topic: "h1"}, model.TopicPartition{Topic: "h2"}, model.TopicPartition{Topic: "h2", Partition: 1}),
	},
}

var upgraded = group{
	id: "cg", state: "Stable", assignor: "range", epoch: ptr(int32(3)), targetEpoch: ptr(int32(3)),
	members: []member{
		modernMember("4WMuWoTpQuGdH33aVxAQJg", "inst", "one", true, model.TopicPartition{Topic: "h1"}, model.TopicPartition{Topic: "h1", Partition: 1}),
		modernMember("RWzV0K_IRYSFadjyMQpWUw", "", "two", true, model.TopicPartition{Topic: "h1", Partition: 2}),
	},
}

// modernMember has reached its target at epoch 3.
func modernMember(id, instance, client string, ofConsumerProtocol bool, owns ...model.TopicPartition) member {
	return member{
		id: id, instance: instance, clientID: client, host: "/127.0.0.1", assigned: owns, target: owns,
		epoch: ptr(int32(3)), upgraded: &ofConsumerProtocol,
	}
}

func TestOffsetsOfAGroupWithoutMembersHaveDashes(t *testing.T) {
	rows := []row{
		{Group: "g-inactive", Topic: "cga", Partition: 0, LeaderEpoch: ptr(int32(0)), Offset: ptr(int64(30)), End: ptr(int64(30)), Lag: ptr(int64(0))},
		{Group: "g-inactive", Topic: "cgb", Partition: 0, Offset: ptr(int64(4)), End: ptr(int64(10)), Lag: ptr(int64(6))},
	}
	for _, c := range []struct {
		verbose bool
		want    string
	}{
		{false, `
GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             CONSUMER-ID     HOST            CLIENT-ID
g-inactive      cga             0          30              30              0               -               -               -
g-inactive      cgb             0          4               10              6               -               -               -
`},
		{true, `
GROUP           TOPIC           PARTITION  LEADER-EPOCH    CURRENT-OFFSET  LOG-END-OFFSET  LAG             CONSUMER-ID     HOST            CLIENT-ID
g-inactive      cga             0          0               30              30              0               -               -               -
g-inactive      cgb             0          -               4               10              6               -               -               -
`},
	} {
		var out bytes.Buffer
		printRows(&out, rows, nil, c.verbose)
		if out.String() != c.want {
			t.Errorf("verbose %t:\n%s\nwant\n%s", c.verbose, out.String(), c.want)
		}
	}
}

func TestOffsetsOfMembersAreSortedAndWidenTheirColumns(t *testing.T) {
	rows, owned := ownedRows(active)
	if len(owned) != 3 || !owned[model.TopicPartition{Topic: "cga", Partition: 2}] {
		t.Errorf("owned: %v", owned)
	}
	for i := range rows {
		rows[i].Offset, rows[i].End, rows[i].Lag = ptr(int64(0)), ptr(int64(0)), ptr(int64(0))
	}
	var out bytes.Buffer
	printRows(&out, rows, nil, false)
	want := `
GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             CONSUMER-ID                                           HOST            CLIENT-ID
g-active        cga             0          0               0               0               console-consumer-24794ae7-0244-48fc-a4b0-4fb38925d394 /127.0.0.1      console-consumer
g-active        cga             1          0               0               0               console-consumer-24794ae7-0244-48fc-a4b0-4fb38925d394 /127.0.0.1      console-consumer
g-active        cga             2          0               0               0               console-consumer-24794ae7-0244-48fc-a4b0-4fb38925d394 /127.0.0.1      console-consumer
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestTheMemberWithMostPartitionsComesFirst(t *testing.T) {
	rows, _ := ownedRows(group{id: "g", members: []member{
		{id: "one", assigned: []model.TopicPartition{{Topic: "a"}}},
		{id: "idle"},
		{id: "two", assigned: []model.TopicPartition{{Topic: "z", Partition: 1}, {Topic: "z"}}},
	}})
	var order []string
	for _, r := range rows {
		order = append(order, *r.ConsumerID+" "+r.Topic)
	}
	if want := []string{"two z", "two z", "one a"}; !slices.Equal(order, want) {
		t.Errorf("got %v, want %v", order, want)
	}
}

func TestMembersAreATableWithAnEmptyLineBeforeIt(t *testing.T) {
	for _, c := range []struct {
		group   group
		verbose bool
		want    string
	}{
		{active, false, "\n" +
			"GROUP           CONSUMER-ID                                           HOST            CLIENT-ID        #PARTITIONS     \n" +
			"g-active        console-consumer-24794ae7-0244-48fc-a4b0-4fb38925d394 /127.0.0.1      console-consumer 3               \n"},
		{active, true, "\n" +
			"GROUP           CONSUMER-ID                                           HOST            CLIENT-ID        #PARTITIONS     CURRENT-EPOCH   CURRENT-ASSIGNMENT   TARGET-EPOCH    TARGET-ASSIGNMENT   \n" +
			"g-active        console-consumer-24794ae7-0244-48fc-a4b0-4fb38925d394 /127.0.0.1      console-consumer 3               -               cga:0,1,2            -               -                   \n"},
		{both, true, "\n" +
			"GROUP           CONSUMER-ID            HOST            CLIENT-ID       #PARTITIONS     CURRENT-EPOCH   CURRENT-ASSIGNMENT   TARGET-EPOCH    TARGET-ASSIGNMENT    UPGRADED\n" +
			"mixed           3cGHiMG_Q6aAhEnyaq6zJA /127.0.0.1      old             2               3               h1:1,2               3               h1:1,2               false\n" +
			"mixed           f0JM36XWSnK1MxWuZZD2Mg /127.0.0.1      new             3               3               h1:0;h2:0,1          3               h1:0;h2:0,1          true\n"},
		{upgraded, true, "\n" +
			"GROUP           CONSUMER-ID            GROUP-INSTANCE-ID HOST            CLIENT-ID       #PARTITIONS     CURRENT-EPOCH   CURRENT-ASSIGNMENT   TARGET-EPOCH    TARGET-ASSIGNMENT   \n" +
			"cg              4WMuWoTpQuGdH33aVxAQJg inst              /127.0.0.1      one             2               3               h1:0,1               3               h1:0,1              \n" +
			"cg              RWzV0K_IRYSFadjyMQpWUw                   /127.0.0.1      two             1               3               h1:2                 3               h1:2                \n"},
		{group{id: "g-inactive", state: "Empty"}, false, "\n" +
			"GROUP           CONSUMER-ID     HOST            CLIENT-ID       #PARTITIONS     \n"},
	} {
		var out bytes.Buffer
		printMembers(&out, memberRows(c.group), c.verbose)
		if out.String() != c.want {
			t.Errorf("%s, verbose %t:\n%q\nwant\n%q", c.group.id, c.verbose, out.String(), c.want)
		}
	}
}

func TestAStateIsATableOfItsOwn(t *testing.T) {
	r := stateRow{Group: "cg", Coordinator: node{1, "127.0.0.1", 39392}, Assignor: "range", State: "Stable", Members: 2, Epoch: ptr(int32(3)), TargetEpoch: ptr(int32(3))}
	var modern bytes.Buffer
	printState(&modern, r, true)
	want := `
GROUP           COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE                GROUP-EPOCH     TARGET-ASSIGNMENT-EPOCH   #MEMBERS
cg              127.0.0.1:39392  (1)      range                Stable               3               3                         2
`
	if modern.String() != want {
		t.Errorf("a group of the consumer protocol:\n%s\nwant\n%s", modern.String(), want)
	}
	r = stateRow{Group: "g-active", Coordinator: node{1, "127.0.0.1", 22092}, Assignor: "range", State: "Stable", Members: 1}
	for verbose, want := range map[bool]string{
		false: `
GROUP           COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE                #MEMBERS
g-active        127.0.0.1:22092  (1)      range                Stable               1
`,
		true: `
GROUP           COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE                GROUP-EPOCH     TARGET-ASSIGNMENT-EPOCH   #MEMBERS
g-active        127.0.0.1:22092  (1)      range                Stable               -               -                         1
`,
	} {
		var out bytes.Buffer
		printState(&out, r, verbose)
		if out.String() != want {
			t.Errorf("verbose %t:\n%s\nwant\n%s", verbose, out.String(), want)
		}
	}
}

func TestAListWithStatesAndTypesIsATable(t *testing.T) {
	var out bytes.Buffer
	c := parsed(t, "--list", "--state= ", "--type= ")
	c.streams = option.Streams{Out: &out}
	c.printList([]groups.Listing{{Group: "g-active", Type: "Classic", State: "Stable"}, {Group: "g-inactive", Type: "Classic", State: "Empty"}})
	want := "GROUP                     TYPE                 STATE               \n" +
		"g-active                  Classic              Stable              \n" +
		"g-inactive                Classic              Empty               \n"
	if out.String() != want {
		t.Errorf("got\n%q\nwant\n%q", out.String(), want)
	}
}

func TestOffsetsToResetAreATableEvenWithoutRows(t *testing.T) {
	for want, targets := range map[string][]target{
		"\nGROUP           TOPIC           PARTITION  NEW-OFFSET\n" +
			"g-inactive      cga             1          0\n" +
			"g-inactive      cgb             0          10\n": {{"g-inactive", "cga", 1, 0}, {"g-inactive", "cgb", 0, 10}},
		"\nGROUP           TOPIC           PARTITION  NEW-OFFSET\n": nil,
	} {
		var out bytes.Buffer
		printTargets(&out, []string{"g-inactive"}, targets)
		if out.String() != want {
			t.Errorf("got\n%q\nwant\n%q", out.String(), want)
		}
	}
}

func TestDeletedOffsetsAreListedWithTheTopicsThatAreNotThere(t *testing.T) {
	var out bytes.Buffer
	printDeletions(&out, outcomes{{Topic: "cga", Partition: 0}: nil, {Topic: "cga", Partition: 1}: nil, {Topic: "nosuch", Partition: noPartition}: errDuration})
	want := "\nTOPIC           PARTITION  STATUS         \n" +
		"cga             0          Successful     \n" +
		"cga             1          Successful     \n" +
		"nosuch          -          Error: Text cannot be parsed to a Duration\n"
	if out.String() != want {
		t.Errorf("got\n%q\nwant\n%q", out.String(), want)
	}
}

func TestLagInSecondsIsAColumnWhereItIsAskedFor(t *testing.T) {
	rows := []row{
		{Group: "g-inactive", Topic: "cga", Partition: 0, Offset: ptr(int64(30)), End: ptr(int64(30)), Lag: ptr(int64(0))},
		{Group: "g-inactive", Topic: "cgb", Partition: 0, Offset: ptr(int64(4)), End: ptr(int64(10)), Lag: ptr(int64(6))},
		{Group: "g-inactive", Topic: "cgb", Partition: 1},
	}
	var out bytes.Buffer
	printRows(&out, rows, []agedRow{{rows[0], ptr(0.0)}, {rows[1], ptr(61.25)}, {rows[2], nil}}, false)
	want := `
GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             LAG-SECONDS     CONSUMER-ID     HOST            CLIENT-ID
g-inactive      cga             0          30              30              0               0.000           -               -               -
g-inactive      cgb             0          4               10              6               61.250          -               -               -
g-inactive      cgb             1          -               -               -               -               -               -               -
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
