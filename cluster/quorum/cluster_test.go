package quorum_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"troupe/cluster/quorum"
	"troupe/cluster/record"
	"troupe/codec/batch"
	"troupe/internal/model"
)

// network is several voters, their disks and the messages between them.
type network struct {
	t     *testing.T
	fatal func(format string, args ...any)
	nodes map[quorum.VoterKey]*disk
	keys  []quorum.VoterKey
	first []batch.Voter
	mail  []letter
	away  []quorum.VoterKey // who neither gets nor sends anything
	// agreed is what any node has seen committed at an offset.
	agreed []string
	seen   map[quorum.VoterKey]int
	had    map[quorum.VoterKey]int // the most that a node has seen committed in its lives before
	// latest is the highest epoch in which a node has led, and doubts what leaders of older ones asked after that.
	latest model.LeaderEpoch
	doubts []doubt
}

// doubt is a question whether it leads still, by a node that others have replaced. It is withdrawn when the node hears of that
// (Actor.withdraw).
type doubt struct {
	of       *disk
	epoch    model.LeaderEpoch
	question uint64
}

type letter struct {
	from, to quorum.VoterKey
	payload  []byte
}

func newNetwork(t *testing.T, fatal func(string, ...any), n int) *network {
	w := &network{t: t, fatal: fatal, nodes: map[quorum.VoterKey]*disk{}, seen: map[quorum.VoterKey]int{}, had: map[quorum.VoterKey]int{}}
	for i := range n {
		k := quorum.VoterKey{ID: model.BrokerID(i + 1), Directory: model.DirectoryID{0: byte(i + 1)}}
		w.keys = append(w.keys, k)
		w.first = append(w.first, voter(k))
	}
	for _, k := range w.keys {
		w.nodes[k] = &disk{t: t, hard: quorum.HardState{Voted: quorum.NoVoter, Leader: model.NoBroker}}
		w.restart(k)
	}
	return w
}

// restart loses what was not written and begins again from the disk.
func (w *network) restart(k quorum.VoterKey) {
	old, from := w.nodes[k], quorum.Boundary{Voters: w.first}
	if old.checkpoint.End > 0 {
		from = old.checkpoint
	}
	r := quorum.Restore(quorum.Options{Self: k, ElectionTicks: 5}, from)
	next := &disk{t: w.t, log: old.log, end: old.end, hard: old.hard, checkpoint: old.checkpoint, committed: make([]quorum.Entry, from.End)}
	for _, v := range next.log {
		if err := r.Add(v); err != nil {
			w.fatal("%v restarts: %v", k, err)
		}
	}
	var err error
	if next.machine, err = r.Start(next.hard); err != nil {
		w.fatal("%v restarts: %v", k, err)
	}
	w.had[k] = max(w.had[k], w.seen[k])
	w.nodes[k], w.seen[k] = next, int(from.End)
	w.gather(k)
}

// gather takes a node's effects and compares what it has seen committed with what the others have.
func (w *network) gather(k quorum.VoterKey) {
	d := w.nodes[k]
	d.take()
	for _, m := range d.sent {
		w.mail = append(w.mail, letter{k, m.To, m.Payload})
	}
	d.sent = nil
	if l := d.machine.Leadership(); l.Self {
		w.latest = max(w.latest, l.Epoch)
	}
	for _, q := range w.doubts {
		if q.of == d && q.epoch == d.machine.Leadership().Epoch && d.machine.Confirmed() >= q.question {
			w.fatal("%v is told that it leads, which it did not any more when it asked", k)
		}
	}
	w.seen[k] = max(w.seen[k], int(d.checkpoint.End)) // it may have got that from another one
	for ; w.seen[k] < len(d.committed); w.seen[k]++ {
		e := d.committed[w.seen[k]]
		if int(e.Offset) != w.seen[k] {
			w.fatal("%v: offset %d was committed as number %d", k, e.Offset, w.seen[k])
		}
		what := story([]quorum.Entry{e})
		if int(e.Offset) == len(w.agreed) {
			w.agreed = append(w.agreed, what)
		} else if w.agreed[e.Offset] != what {
			w.fatal("%v committed %q where another committed %q", k, what, w.agreed[e.Offset])
		}
	}
	if d.machine.Settled() && w.seen[k] < w.had[k] {
		w.fatal("%v is settled with %d entries, it has acted on %d", k, w.seen[k], w.had[k])
	}
}

func (w *network) deliver(i int) {
	l := w.mail[i]
	w.mail = append(w.mail[:i:i], w.mail[i+1:]...)
	to, ok := w.nodes[l.to]
	if !ok || slices.Contains(w.away, l.to) || slices.Contains(w.away, l.from) {
		return
	}
	if err := to.machine.Step(l.from, l.payload); err != nil {
		w.fatal("%v", err)
	}
	w.gather(l.to)
}

// run delivers and writes all there is, with ticks, for a number of rounds.
func (w *network) run(rounds int) {
	for range rounds {
		for _, k := range w.keys {
			w.nodes[k].machine.Tick()
			w.remind(k)
			w.gather(k)
		}
		w.quiet()
	}
}

// remind has a leader send again to those that are said to install a checkpoint (Actor.remind).
func (w *network) remind(k quorum.VoterKey) {
	for _, p := range w.nodes[k].machine.Progress() {
		if p.Behind {
			w.nodes[k].machine.Unreachable(p.Key)
		}
	}
}

// sumUp has a node write a checkpoint of what it has seen committed.
func (w *network) sumUp(k quorum.VoterKey) {
	d := w.nodes[k]
	end := model.Offset(len(d.committed))
	if end <= d.checkpoint.End || d.machine.VotersSince() >= end {
		return
	}
	d.checkpoint = quorum.Boundary{End: end, Epoch: d.committed[end-1].Epoch, Voters: d.machine.Voters()}
	d.machine.Checkpointed(d.checkpoint)
}

// catchUp has a node without a vote follow a leader, as far as that has committed, and tells whether it has: a node must before it
// gets a vote (Actor.addVoter). A checkpoint that does not name a voter is of no use to it.
func (w *network) catchUp(k, leader quorum.VoterKey) bool {
	d, other := w.nodes[k], w.nodes[leader]
	end := model.Offset(len(other.committed))
	if d.machine.Votes() {
		return false
	}
	if d.last() > other.machine.Leadership().Epoch {
		return false // of a later leader: this one is none any more
	}
	if from := other.begin(); d.end < from {
		d.log, d.end, d.checkpoint = nil, other.checkpoint.End, other.checkpoint
	}
	// Where two logs have an offset of one epoch, they have the same before it.
	at := min(d.end, other.end)
	for at > other.begin() && at > d.begin() && d.epochAt(at-1) != other.epochAt(at-1) {
		at--
	}
	if at < d.end && (at < other.end || d.last() < other.machine.Leadership().Epoch) {
		d.truncate(at)
	}
	for _, v := range other.log {
		if v.NextOffset() > d.end && d.end < end {
			v = tail(d.t, head(d.t, v, end), d.end)
			d.log, d.end = append(d.log, v), v.NextOffset()
		}
	}
	w.restart(k)
	return d.end >= end
}

// quiet delivers and writes until there is nothing more; the slow ones write nothing.
func (w *network) quiet(slow ...quorum.VoterKey) {
	for w.advance(slow...) {
	}
}

// advance delivers a letter or, when there is none, writes what is due.
func (w *network) advance(slow ...quorum.VoterKey) bool {
	if len(w.mail) > 0 {
		w.deliver(0)
		return true
	}
	busy := false
	for _, k := range w.keys {
		for len(w.nodes[k].pending) > 0 && !slices.Contains(slow, k) {
			busy = true
			w.nodes[k].write()
			w.gather(k)
		}
	}
	return busy
}

// ask has a node ask whether it leads.
func (w *network) ask(k quorum.VoterKey) uint64 {
	d := w.nodes[k]
	question := d.machine.Confirm()
	if epoch := d.machine.Leadership().Epoch; epoch < w.latest {
		w.doubts = append(w.doubts, doubt{d, epoch, question})
	}
	w.gather(k)
	return question
}

// campaign has a voter ask for votes.
func (w *network) campaign(k quorum.VoterKey) {
	w.t.Helper()
	if err := w.nodes[k].machine.Campaign(); err != nil {
		w.t.Fatal(err)
	}
	w.gather(k)
}

// propose has a leader change the voters.
func (w *network) propose(leader quorum.VoterKey, voters []batch.Voter) {
	w.t.Helper()
	if err := w.nodes[leader].machine.ProposeVoters(voters); err != nil {
		w.t.Fatal(err)
	}
	w.gather(leader)
}

// create has a leader propose topics.
func (w *network) create(leader quorum.VoterKey, names ...string) {
	w.t.Helper()
	if _, err := w.nodes[leader].machine.Propose(topics(names...), record.LatestMetadataVersion); err != nil {
		w.t.Fatal(err)
	}
	w.gather(leader)
}

// tick lets a node's time go on.
func (w *network) tick(k quorum.VoterKey, times int) {
	for range times {
		w.nodes[k].machine.Tick()
	}
	w.gather(k)
}

func (w *network) leader() (quorum.VoterKey, bool) {
	for _, k := range w.keys {
		if w.nodes[k].machine.Leadership().Self {
			return k, true
		}
	}
	return quorum.NoVoter, false
}

// elect runs until a voter leads and the others have heard of what it has committed. Votes may be split, again and again: how long
// each waits for the next attempt is for dice.
func (w *network) elect() quorum.VoterKey {
	w.t.Helper()
	k, ok := w.tryElect()
	if !ok {
		w.fatal("nobody leads when all is well")
	}
	return k
}

func (w *network) tryElect() (quorum.VoterKey, bool) {
	for range 1000 {
		w.run(1)
		if k, ok := w.leader(); ok {
			w.run(3)
			return k, true
		}
	}
	return quorum.NoVoter, false
}

// barred tells whether a voter needs the vote of one that was removed and has a longer log. It died before it had written the
// checkpoint that makes a start go by the last set (Actor.considerCheckpoint), of which there are none here.
func (w *network) barred() bool {
	for _, k := range w.keys {
		for _, removed := range w.keys {
			counts := slices.ContainsFunc(w.nodes[k].machine.Voters(), func(v batch.Voter) bool { return v.ID == removed.ID })
			if counts && !w.nodes[removed].machine.Votes() && w.nodes[removed].end > w.nodes[k].end {
				return true
			}
		}
	}
	return false
}

func TestThreeVotersAgreeAndGoOnWithoutOne(t *testing.T) {
	w := newNetwork(t, t.Fatalf, 3)
	k := w.elect()
	if _, err := w.nodes[k].machine.Propose(topics("a"), record.LatestMetadataVersion); err != nil {
		t.Fatal(err)
	}
	w.gather(k)
	w.run(2)
	for _, other := range w.keys {
		if n := len(w.nodes[other].committed); n != 2 {
			t.Errorf("%v has seen %d entries committed: %s", other, n, story(w.nodes[other].committed))
		}
		if other != k {
			if _, err := w.nodes[other].machine.Propose(topics("x"), record.LatestMetadataVersion); !errors.Is(err, quorum.ErrNotLeader) {
				t.Errorf("a follower took a proposal: %v", err)
			}
		}
	}
	dead := w.nodes[k]
	delete(w.nodes, k)
	rest := w.keys
	w.keys = nil
	for _, other := range rest {
		if other != k {
			w.keys = append(w.keys, other)
		}
	}
	next := w.elect()
	if l := w.nodes[next].machine.Leadership(); l.Epoch <= dead.machine.Leadership().Epoch {
		t.Errorf("took over in epoch %d after %d", l.Epoch, dead.machine.Leadership().Epoch)
	}
}

func TestAVoterIsAddedAndRemovedAndTheLogSaysSo(t *testing.T) {
	w := newNetwork(t, t.Fatalf, 3)
	k := w.elect()
	leader := w.nodes[k].machine
	epoch := leader.Leadership().Epoch // not always 1: the first votes may be split
	added := voter(quorum.VoterKey{ID: 4, Directory: model.DirectoryID{0: 4}})
	two := append(append([]batch.Voter{}, leader.Voters()...), added, voter(quorum.VoterKey{ID: 5}))
	if err := leader.ProposeVoters(two); err == nil {
		t.Error("two voters were added at once")
	}
	if err := leader.ProposeVoters(append(append([]batch.Voter{}, leader.Voters()...), added)); err != nil {
		t.Fatal(err)
	}
	w.gather(k)
	w.run(3)
	for _, each := range w.keys {
		if n := len(w.nodes[each].machine.Voters()); n != 4 {
			t.Errorf("%v counts %d voters", each, n)
		}
	}
	if err := leader.ProposeVoters(w.first); err != nil {
		t.Fatal(err)
	}
	w.gather(k)
	w.run(3)
	w.restart(w.keys[0])
	w.restart(w.keys[1])
	w.restart(w.keys[2])
	w.elect()
	for _, each := range w.keys {
		if n := len(w.nodes[each].machine.Voters()); n != 3 {
			t.Errorf("%v counts %d voters after a restart", each, n)
		}
	}
	want := fmt.Sprintf("[1/%d batch.Voters 2/%d batch.Voters]", epoch, epoch)
	if got := fmt.Sprint(w.agreed[1:3]); got != want {
		t.Errorf("the log has %s, want %s", got, want)
	}
}

func TestAVoterThatIsReachedElsewhereIsOneVoterStill(t *testing.T) {
	w := newNetwork(t, t.Fatalf, 3)
	k := w.elect()
	moved := slices.Clone(w.nodes[k].machine.Voters())
	moved[1].Endpoints = []batch.VoterEndpoint{{Name: "CONTROLLER", Host: "elsewhere", Port: 9193}}
	if err := w.nodes[k].machine.ProposeVoters(moved); err != nil {
		t.Fatal(err)
	}
	w.gather(k)
	w.run(3)
	told := func(when string) {
		t.Helper()
		for _, each := range w.keys {
			if got := w.nodes[each].machine.Voters(); len(got) != 3 || !slices.Equal(got[1].Endpoints, moved[1].Endpoints) {
				t.Errorf("%s %v has the voters %+v", when, each, got)
			}
		}
	}
	told("when it is committed")
	for _, each := range w.keys {
		w.restart(each)
	}
	w.elect()
	told("after a restart")
}

func keyOf(v batch.Voter) quorum.VoterKey { return quorum.VoterKey{ID: v.ID, Directory: v.DirectoryID} }

// toggled gives a set of voters without one, or with one that was not in it.
func toggled(set []batch.Voter, v batch.Voter) []batch.Voter {
	same := func(o batch.Voter) bool { return o.DirectoryID == v.DirectoryID }
	if slices.ContainsFunc(set, same) {
		return slices.DeleteFunc(slices.Clone(set), same)
	}
	return append(slices.Clone(set), v)
}

func TestAVoterThatTookInOthersDoesNotLeadAloneAfterARestart(t *testing.T) {
	w := newNetwork(t, t.Fatalf, 1)
	founder := w.keys[0]
	for id := range byte(2) {
		k := quorum.VoterKey{ID: model.BrokerID(id + 2), Directory: model.DirectoryID{0: id + 2}}
		w.keys = append(w.keys, k)
		w.nodes[k] = &disk{t: t, hard: quorum.HardState{Voted: quorum.NoVoter, Leader: model.NoBroker}}
		w.restart(k)
		w.run(1)
		machine := w.nodes[founder].machine
		if err := machine.ProposeVoters(toggled(machine.Voters(), voter(k))); err != nil {
			t.Fatal(err)
		}
		w.gather(founder)
		w.run(3)
	}
	w.keys, w.mail = []quorum.VoterKey{founder}, nil
	for k := range w.nodes {
		if k != founder { // cut off
			delete(w.nodes, k)
		}
	}
	agreed := len(w.agreed)
	w.restart(founder)
	w.run(30)
	if len(w.agreed) > agreed {
		t.Errorf("it commits %s without the others", w.agreed[agreed:])
	}
}

// Who is elected by the others before its own vote is written, and dies, is elected in the same epoch again.
func TestACandidateAsksForVotesWhenItsOwnIsWritten(t *testing.T) {
	w := newNetwork(t, t.Fatalf, 3)
	one := w.keys[0]
	w.campaign(one)
	w.quiet(one)
	if d := w.nodes[one]; d.machine.Leadership().Self || len(d.pending) == 0 {
		t.Fatalf("it leads (%v) before its vote is written, of which %d parts are due", d.machine.Leadership().Self, len(d.pending))
	}
	for _, k := range w.keys[1:] {
		if v := w.nodes[k].hard.Voted; v != quorum.NoVoter {
			t.Errorf("%v has voted for %v", k, v)
		}
	}
	w.quiet()
	if !w.nodes[one].machine.Leadership().Self {
		t.Error("it does not lead when its vote is written")
	}
}

// The second change was proposed when the first was committed, though nobody has told so: by the set before both, the voters that
// are gone would elect another leader.
func TestAVoterThatHearsOfTwoChangesAtOnceGoesByTheFirst(t *testing.T) {
	w := newNetwork(t, t.Fatalf, 3)
	one, two, three := w.keys[0], w.keys[1], w.keys[2]
	w.campaign(one)
	w.quiet()
	w.away = []quorum.VoterKey{two}
	w.propose(one, w.first[:2]) // committed by the first and the third
	w.quiet()
	w.away = []quorum.VoterKey{two, three}
	w.propose(one, w.first[:1])
	w.quiet()
	w.restart(one) // which knows no more how far its log is committed
	w.restart(two) // which knows of no leader
	w.away = []quorum.VoterKey{three}
	w.campaign(one)
	for len(w.nodes[one].machine.Voters()) > 1 {
		if !w.advance() {
			t.Fatal("the changes are not committed")
		}
	}
	w.mail, w.away = nil, []quorum.VoterKey{one} // the second voter does not hear of that
	w.create(one, "alone")
	w.quiet()
	if n := len(w.nodes[one].committed); n != 5 { // two beginnings of an epoch, two changes, and the topic
		t.Fatalf("the last voter has seen %d entries committed: %s", n, story(w.nodes[one].committed))
	}
	for _, when := range []string{"as it heard them", "as it reads them, in one batch, when it starts"} {
		w.restart(three)
		w.campaign(two)
		w.quiet()
		if w.nodes[two].machine.Leadership().Self {
			t.Errorf("%s: a voter that was removed leads by the votes of another one", when)
		}
		w.restart(two)
		if got := w.nodes[two].machine.Voters(); len(got) != 2 {
			t.Errorf("it starts with %d voters, two are left after the first change", len(got))
		}
	}
}

// Raft takes the second one without a word, and writes an empty entry for it.
func TestAChangeOfVotersIsRefusedWhileAnotherIsUnderWay(t *testing.T) {
	w := newNetwork(t, t.Fatalf, 3)
	one := w.keys[0]
	w.campaign(one)
	for !w.nodes[one].machine.Leadership().Self {
		w.advance()
	}
	end := w.nodes[one].machine.End()
	refused := func(when string) {
		t.Helper()
		if err := w.nodes[one].machine.ProposeVoters(w.first[:2]); err == nil || errors.Is(err, quorum.ErrNotLeader) {
			t.Errorf("%s: %v", when, err)
		}
		if got := w.nodes[one].machine.End(); got != end {
			t.Errorf("%s: the log ends at %d, was %d", when, got, end)
		}
	}
	refused("before the leader has committed anything")
	w.quiet()
	w.propose(one, w.first[1:])
	end++
	refused("before the first change is committed")
	w.quiet()
	if got := story(w.nodes[one].committed); got != "0/1 batch.LeaderChange, 1/1 batch.Voters" {
		t.Errorf("committed %s", got)
	}
}

// What leaders said before this process began may come again: that they had committed less then is no news.
func TestAVoterIsSettledWhenItHasAllThatWasOnItsDisk(t *testing.T) {
	w := newNetwork(t, t.Fatalf, 3)
	one, two, three := w.keys[0], w.keys[1], w.keys[2]
	var said []letter
	run := func() {
		for w.advance() {
			for _, l := range w.mail {
				if l.to == three {
					said = append(said, l)
				}
			}
		}
	}
	w.campaign(one)
	run()
	w.create(one, "a")
	run()
	w.nodes[one].machine.HandOver()
	w.gather(one)
	run()
	w.create(two, "b")
	run()
	w.tick(two, 1)
	run()
	if n := len(w.nodes[three].committed); n != 4 {
		t.Fatalf("%d entries were committed: %s", n, story(w.nodes[three].committed))
	}
	w.restart(three)
	for _, l := range said {
		w.mail = []letter{l}
		w.deliver(0) // gather looks whether it is settled too early
	}
	w.mail = nil
	w.tick(two, 1)
	w.quiet()
	if d := w.nodes[three]; !d.machine.Settled() || len(d.committed) != 4 {
		t.Errorf("in the end it is settled %v with %s", d.machine.Settled(), story(d.committed))
	}
}

func TestTheLeadershipIsHandedToAVoterThatAnswers(t *testing.T) {
	for away, next := range map[int]int{1: 2, 2: 1} {
		w := newNetwork(t, t.Fatalf, 3)
		one := w.keys[0]
		w.campaign(one)
		w.quiet()
		w.away = w.keys[away : away+1]
		for range 10 { // two election timeouts
			w.tick(one, 1)
			w.quiet()
		}
		w.nodes[one].machine.HandOver()
		w.gather(one)
		w.quiet()
		if !w.nodes[w.keys[next]].machine.Leadership().Self {
			t.Errorf("%v does not lead, though %v answers nobody", w.keys[next], w.keys[away])
		}
	}
}

func TestALeaderIsConfirmedByAMajorityOrByNobody(t *testing.T) {
	w := newNetwork(t, t.Fatalf, 3)
	k := w.elect()
	confirmed := func() bool {
		question := w.ask(k)
		w.quiet()
		return w.nodes[k].machine.Confirmed() == question
	}
	if !confirmed() {
		t.Error("not by all three")
	}
	others := slices.DeleteFunc(slices.Clone(w.keys), func(o quorum.VoterKey) bool { return o == k })
	if w.away = others[:1]; !confirmed() {
		t.Error("not by two of three")
	}
	if w.away = others; confirmed() {
		t.Error("by itself")
	}
	lone := newNetwork(t, t.Fatalf, 1)
	k = lone.elect()
	if question := lone.ask(k); lone.nodes[k].machine.Confirmed() != question {
		t.Error("a lone voter waits for others")
	}
	if question := w.ask(others[0]); w.nodes[others[0]].machine.Confirmed() >= question {
		t.Error("one that follows")
	}
}

// Whatever is lost, delayed, repeated or crashed: no two voters see different entries committed at one offset, an
// entry that one saw committed is never lost while disks keep what was written, and nobody who was replaced is confirmed.
func TestVotersNeverDisagree(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newNetwork(t, rt.Fatalf, 3)
		named := 0
		for range rapid.IntRange(20, 200).Draw(rt, "steps") {
			k := rapid.SampledFrom(w.keys).Draw(rt, "node")
			d := w.nodes[k]
			switch action := rapid.IntRange(0, 11).Draw(rt, "action"); {
			case action < 3 && len(w.mail) > 0:
				w.deliver(rapid.IntRange(0, len(w.mail)-1).Draw(rt, "letter"))
			case action < 5 && len(d.pending) > 0:
				d.write()
				w.gather(k)
			case action == 5:
				for range rapid.IntRange(1, 8).Draw(rt, "ticks") {
					d.machine.Tick()
				}
				w.gather(k)
			case action == 6:
				named++
				if _, err := d.machine.Propose(topics(fmt.Sprint("t", named), fmt.Sprint("u", named)), record.LatestMetadataVersion); err == nil {
					w.gather(k)
				}
			case action == 7 && len(w.mail) > 0:
				i := rapid.IntRange(0, len(w.mail)-1).Draw(rt, "lost or repeated")
				if rapid.Bool().Draw(rt, "repeat") {
					w.mail = append(w.mail, w.mail[i])
				} else {
					w.mail = append(w.mail[:i:i], w.mail[i+1:]...)
				}
			case action == 8:
				w.restart(k)
			case action == 9 && d.machine.Leadership().Self:
				w.ask(k)
			case action == 10:
				w.sumUp(k)
			case d.machine.Leadership().Self && d.machine.Settled():
				// Not itself: where the news that it left is lost, the last voter would have to ask it for a vote.
				v := rapid.SampledFrom(w.first).Draw(rt, "voter")
				if v.ID == k.ID {
					continue
				}
				votes := slices.ContainsFunc(d.machine.Voters(), func(o batch.Voter) bool { return o.ID == v.ID })
				if !votes && !w.catchUp(keyOf(v), k) {
					continue
				}
				if d.machine.ProposeVoters(toggled(d.machine.Voters(), v)) == nil {
					w.gather(k)
				}
			}
		}
		before := len(w.agreed)
		k, ok := w.tryElect()
		if !ok && w.barred() {
			return
		}
		if !ok {
			rt.Fatalf("nobody leads when all is well again")
		}
		if n := len(w.nodes[k].committed); n < before || n == 0 {
			rt.Fatalf("%d entries are committed, %d were", n, before)
		}
	})
}
