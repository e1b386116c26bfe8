package lag_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"troupe/actors/group"
	"troupe/actors/lag"
	"troupe/internal/model"
)

func tp(topic string, n int32) model.TopicPartition {
	return model.TopicPartition{Topic: topic, Partition: n}
}

func commit(at model.TopicPartition, o model.Offset) group.Commit {
	return group.Commit{At: at, Offset: o}
}

func overview(id string, commits ...group.Commit) group.Overview {
	return group.Overview{ID: id, State: "Stable", Type: "classic", Commits: commits}
}

// seconds is a moment of these tests.
func seconds(s int64) time.Time { return time.Unix(s, 0) }

// byTopic has topic tN led by broker N, and others by nobody.
func byTopic(at model.TopicPartition) model.BrokerID {
	var n model.BrokerID
	if _, err := fmt.Sscanf(at.Topic, "t%d", &n); err != nil {
		return model.NoBroker
	}
	return n
}

// records is a log whose record at offset o has the time 1000*o, from start to before end.
type records struct{ start, end model.Offset }

// answer is what a leader of such logs says.
func answer(logs map[model.TopicPartition]records, wanted []lag.Wanted) (answers []lag.Answer, asked int) {
	for _, w := range wanted {
		l, there := logs[w.At]
		if !there {
			continue
		}
		a := lag.Answer{At: w.At, Start: l.start, End: l.end}
		for _, p := range w.Points {
			ms, record := lag.Timeless, max(p.Offset, l.start)
			switch {
			case record >= l.end:
			case record == p.Known:
				ms = lag.Unchanged
			default:
				ms = int64(record) * 1000
				asked++
			}
			a.Times = append(a.Times, ms)
		}
		answers = append(answers, a)
	}
	return answers, asked
}

// round runs one with leaders of all these logs, and tells how many times they had to look up.
func round(m *lag.Machine, now time.Time, logs map[model.TopicPartition]records, groups ...group.Overview) (*lag.Report, int) {
	looked := 0
	for _, ask := range m.Begin(groups, byTopic) {
		answers, n := answer(logs, ask.Partitions)
		m.Answered(answers)
		looked += n
	}
	return m.Report(now), looked
}

func TestEachBrokerIsAskedOnceForAllItsPartitions(t *testing.T) {
	m := lag.NewMachine(lag.Options{SeriesMax: 10})
	asks := m.Begin([]group.Overview{
		overview("a", commit(tp("t2", 0), 5), commit(tp("t1", 1), 7), commit(tp("t1", 0), 7)),
		overview("b", commit(tp("t1", 0), 3), commit(tp("t2", 0), 5), commit(tp("nobody's", 0), 1)),
	}, byTopic)
	none := model.NoOffset
	want := []lag.Ask{
		{Broker: 1, Partitions: []lag.Wanted{
			{At: tp("t1", 0), Points: []lag.Point{{Offset: 3, Known: none}, {Offset: 7, Known: none}}},
			{At: tp("t1", 1), Points: []lag.Point{{Offset: 7, Known: none}}},
		}},
		{Broker: 2, Partitions: []lag.Wanted{{At: tp("t2", 0), Points: []lag.Point{{Offset: 5, Known: none}}}}},
	}
	if got := fmt.Sprint(asks); got != fmt.Sprint(want) {
		t.Errorf("asked %v, want %v", got, want)
	}
}

func TestAGroupIsAsFarBehindAsItsWorstPartition(t *testing.T) {
	m := lag.NewMachine(lag.Options{SeriesMax: 10, Partitions: true})
	logs := map[model.TopicPartition]records{tp("t1", 0): {0, 100}, tp("t1", 1): {20, 50}}
	for _, c := range []struct {
		name     string
		commits  []group.Commit
		max, sum int64
		age      time.Duration
	}{
		{"all is read", []group.Commit{commit(tp("t1", 0), 100), commit(tp("t1", 1), 50)}, 0, 0, 0},
		{"the last record is left", []group.Commit{commit(tp("t1", 0), 99)}, 1, 1, 1000*time.Second - 99*time.Second},
		{"the oldest record decides, the longest log too", []group.Commit{commit(tp("t1", 0), 60), commit(tp("t1", 1), 45)}, 40, 45, 955 * time.Second},
		{"what retention took is counted and not dated", []group.Commit{commit(tp("t1", 1), 5)}, 45, 45, 980 * time.Second},
		{"an offset beyond the end is not behind", []group.Commit{commit(tp("t1", 0), 120)}, 0, 0, 0},
	} {
		r, _ := round(m, seconds(1000), logs, overview("g", c.commits...))
		want := lag.Group{ID: "g", Behind: lag.Behind{Records: c.max, Age: c.age, Dated: true}, Sum: c.sum}
		if len(r.Groups) != 1 || r.Groups[0] != want || r.Unknown != 0 || len(r.Partitions) != len(c.commits) {
			t.Errorf("%s: %+v, %d unknown, want %+v", c.name, r.Groups, r.Unknown, want)
		}
	}
}

func TestARecordOfTheFutureIsOfThisMoment(t *testing.T) {
	m := lag.NewMachine(lag.Options{SeriesMax: 1})
	r, _ := round(m, seconds(10), map[model.TopicPartition]records{tp("t1", 0): {0, 100}}, overview("g", commit(tp("t1", 0), 90)))
	if b := r.Groups[0].Behind; b != (lag.Behind{Records: 10, Dated: true}) {
		t.Errorf("it is %+v behind", b)
	}
}

func TestATimeIsAskedForOnce(t *testing.T) {
	m := lag.NewMachine(lag.Options{SeriesMax: 10})
	logs := map[model.TopicPartition]records{tp("t1", 0): {0, 100}}
	at := func(o model.Offset) group.Overview { return overview("g", commit(tp("t1", 0), o)) }
	for i, step := range []struct {
		log    records
		offset model.Offset
		looked int
		age    int64 // seconds, at 1000
	}{
		{records{0, 100}, 40, 1, 960},
		{records{0, 110}, 40, 0, 960}, // nothing moved but the end
		{records{30, 110}, 40, 0, 960},
		{records{50, 110}, 40, 1, 950}, // retention took the record
		{records{50, 110}, 40, 0, 950},
		{records{50, 110}, 80, 1, 920}, // the group moved
		{records{50, 110}, 110, 0, 0},
		{records{50, 120}, 110, 1, 890},
	} {
		logs[tp("t1", 0)] = step.log
		r, looked := round(m, seconds(1000), logs, at(step.offset))
		if age := int64(r.Groups[0].Age / time.Second); looked != step.looked || age != step.age {
			t.Errorf("step %d: %d looked up, %d s; want %d, %d s", i, looked, age, step.looked, step.age)
		}
	}
}

func TestATimeIsNotBelievedForEver(t *testing.T) {
	m := lag.NewMachine(lag.Options{SeriesMax: 10})
	logs := map[model.TopicPartition]records{tp("t1", 0): {0, 100}}
	total := 0
	for range 121 {
		_, looked := round(m, seconds(1000), logs, overview("g", commit(tp("t1", 0), 40)))
		total += looked
	}
	if total != 3 {
		t.Errorf("looked up %d times in 121 rounds, want once in 60", total)
	}
}

func TestWhoDoesNotAnswerLeavesItsPartitionsUnknown(t *testing.T) {
	m := lag.NewMachine(lag.Options{SeriesMax: 10})
	groups := []group.Overview{
		overview("both", commit(tp("t1", 0), 10), commit(tp("t2", 0), 10)),
		overview("silent", commit(tp("t2", 0), 10)),
		overview("nobody's", commit(tp("gone", 0), 10)),
	}
	asks := m.Begin(groups, byTopic)
	answers, _ := answer(map[model.TopicPartition]records{tp("t1", 0): {0, 15}}, asks[0].Partitions)
	m.Answered(answers)
	m.Answered([]lag.Answer{{At: tp("t9", 0), End: 9}, {At: tp("t2", 0), End: 9}}) // not asked for, and not in the form of the question
	r := m.Report(seconds(1000))
	if len(r.Groups) != 1 || r.Groups[0].ID != "both" || r.Groups[0].Sum != 5 || r.Unknown != 3 || r.Offsets != 4 {
		t.Errorf("%+v, %d unknown of %d", r.Groups, r.Unknown, r.Offsets)
	}
	m.Begin(groups, byTopic)
	if r := m.Report(seconds(1000)); len(r.Groups) != 0 || r.Unknown != 4 {
		t.Errorf("the next round believes the answers of this one: %+v", r.Groups)
	}
}

func TestRecordsWithoutTimesAreBehindInRecordsAlone(t *testing.T) {
	m := lag.NewMachine(lag.Options{SeriesMax: 10})
	m.Begin([]group.Overview{overview("g", commit(tp("t1", 0), 10))}, byTopic)
	m.Answered([]lag.Answer{{At: tp("t1", 0), End: 12, Times: []int64{lag.Timeless}}})
	if g := m.Report(seconds(1000)).Groups[0]; g.Dated || g.Records != 2 {
		t.Errorf("it is %+v behind", g.Behind)
	}
}

func TestThoseFurthestBehindHaveSeriesAndTheOthersAreCounted(t *testing.T) {
	m := lag.NewMachine(lag.Options{SeriesMax: 3, Partitions: true})
	var groups []group.Overview
	for i := range 10 {
		groups = append(groups, overview(fmt.Sprint("g", i), commit(tp("t1", 0), model.Offset(10*i)), commit(tp("t1", 1), 100)))
	}
	logs := map[model.TopicPartition]records{tp("t1", 0): {0, 100}, tp("t1", 1): {0, 100}}
	r, _ := round(m, seconds(1000), logs, groups...)
	var shown []string
	for _, g := range r.Groups {
		shown = append(shown, g.ID)
	}
	if !slices.Equal(shown, []string{"g0", "g1", "g2"}) || r.GroupsOmitted != 7 || len(r.Partitions) != 3 || r.PartitionsOmitted != 17 {
		t.Errorf("%v, %d groups left out; %d partitions, %d left out", shown, r.GroupsOmitted, len(r.Partitions), r.PartitionsOmitted)
	}
	if r.Kinds[lag.Kind{Type: "classic", State: "Stable"}] != 10 {
		t.Errorf("kinds %v", r.Kinds)
	}
}

// Whatever groups commit and logs do, a report is what one would work out with everything at hand.
func TestReportsAreWhatArithmeticGives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := lag.NewMachine(lag.Options{SeriesMax: 1000, Partitions: true})
		logs := map[model.TopicPartition]records{}
		for range rapid.IntRange(1, 6).Draw(t, "rounds") {
			for n := range int32(3) {
				at := tp("t1", n)
				l := logs[at]
				l.end += model.Offset(rapid.IntRange(0, 20).Draw(t, "appended"))
				l.start = min(l.end, l.start+model.Offset(rapid.IntRange(0, 20).Draw(t, "deleted")))
				logs[at] = l
			}
			var groups []group.Overview
			for i := range rapid.IntRange(0, 4).Draw(t, "groups") {
				g := overview(fmt.Sprint("g", i))
				for n := range int32(3) {
					if o := rapid.IntRange(-1, 70).Draw(t, "offset"); o >= 0 {
						g.Commits = append(g.Commits, commit(tp("t1", n), model.Offset(o)))
					}
				}
				groups = append(groups, g)
			}
			r, _ := round(m, seconds(1000), logs, groups...)
			for _, p := range r.Partitions {
				want := lag.Behind{Dated: true}
				i := slices.IndexFunc(groups, func(g group.Overview) bool { return g.ID == p.Group })
				j := slices.IndexFunc(groups[i].Commits, func(c group.Commit) bool { return c.At == p.At })
				o, l := groups[i].Commits[j].Offset, logs[p.At]
				want.Records = max(0, int64(l.end-o))
				if max(o, l.start) < l.end {
					want.Age = time.Duration(1000-max(o, l.start)) * time.Second
				}
				if p.Behind != want {
					t.Fatalf("%s in %v of %+v: %+v, want %+v", p.Group, p.At, l, p.Behind, want)
				}
			}
		}
	})
}
