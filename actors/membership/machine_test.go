package membership

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"troupe/internal/model"
)

// story is a machine of node 1 and what it was heard to decide.
type story struct {
	t     *testing.T
	m     *machine
	now   time.Time
	began time.Time
	wake  time.Time
}

func newStory(t *testing.T) *story {
	at := time.Unix(1000, 0)
	return &story{t: t, m: newMachine(1), now: at, began: at}
}

// process is a node's record, told from others of the node by its number.
func process(id model.BrokerID, number byte) Record {
	return Record{ClusterID: "ours", NodeID: id, Incarnation: model.UUID{number}, Broker: Address{Host: fmt.Sprintf("host%d", id), Port: 9092}, Serves: true}
}

// tell is a step as the scenarios write it.
func (s *story) tell(x step) string {
	s.wake = x.wake
	var words []string
	if x.hint != model.NoBroker {
		words = append(words, fmt.Sprintf("hint %d", x.hint))
	}
	if x.back != model.NoBroker {
		words = append(words, fmt.Sprintf("back %d", x.back))
	}
	if x.changed {
		words = append(words, "changed")
	}
	names := map[event]string{joined: "joined", restarted: "restarted", suspected: "suspected", answering: "answers", left: "left", forgotten: "forgotten"}
	for _, l := range x.lines {
		words = append(words, fmt.Sprintf("say %d %s", l.member.NodeID, names[l.event]))
	}
	return strings.Join(words, ", ")
}

// do runs one line of a scenario: "join 2", "join 2 as 7" (another process), "fail 2", "farewell 2 as 7", "pass 3s", which
// lets the timer go off on its way.
func (s *story) do(line string) string {
	s.t.Helper()
	var verb string
	var id model.BrokerID
	number := 0
	if rest, ok := strings.CutPrefix(line, "pass "); ok {
		d, err := time.ParseDuration(rest)
		if err != nil {
			s.t.Fatal(err)
		}
		return s.pass(d)
	}
	if n, _ := fmt.Sscanf(line, "%s %d as %d", &verb, &id, &number); n < 2 {
		s.t.Fatalf("%q is no event", line)
	}
	switch verb {
	case "join":
		return s.tell(s.m.join(s.now, process(id, byte(number))))
	case "fail":
		return s.tell(s.m.fail(s.now, id))
	case "doubt":
		return s.tell(s.m.doubt(s.now, id))
	case "farewell":
		return s.tell(s.m.farewell(s.now, id, model.UUID{byte(number)}))
	}
	s.t.Fatalf("%q is no event", line)
	return ""
}

func (s *story) pass(d time.Duration) string {
	var heard []string
	for end := s.now.Add(d); ; {
		if s.wake.IsZero() || s.wake.After(end) {
			s.now = end
			return strings.Join(heard, "; ")
		}
		s.now = s.wake
		if text := s.tell(s.m.tick(s.now)); text != "" {
			heard = append(heard, fmt.Sprintf("%v: %s", s.now.Sub(s.began), text))
		}
	}
}

func TestWhatIsMadeOfWhatIsSaidAboutNodes(t *testing.T) {
	for _, c := range []struct {
		title string
		lines []string // an event -> what was decided
	}{
		{"a node comes, is suspected, and answers again", []string{
			"join 2 -> back 2, changed, say 2 joined",
			"join 2 -> ", // nothing new
			"pass 1m -> ",
			"fail 2 -> hint 2, changed, say 2 suspected",
			"pass 10s -> ",
			"join 2 -> back 2, changed, say 2 answers",
		}},
		{"this node is no member of its own", []string{
			"join 1 -> ",
			"fail 1 -> ",
			"farewell 1 -> ",
		}},
		{"nobody is suspected who was never there", []string{
			"fail 2 -> ",
			"farewell 2 -> ",
		}},
		{"a node that is doubted is asked, and nothing is said of it before it is suspected", []string{
			"join 2 -> back 2, changed, say 2 joined",
			"pass 1m -> ",
			"doubt 2 -> hint 2",
			"doubt 2 -> ",
			"doubt 3 -> ",
			"pass 200ms -> ",
			"fail 2 -> changed, say 2 suspected",
		}},
		{"a node that flaps costs one hint a second, and a line in ten seconds", []string{
			"join 2 -> back 2, changed, say 2 joined",
			"pass 20s -> ",
			"fail 2 -> hint 2, changed, say 2 suspected",
			"join 2 -> back 2, changed",
			"pass 500ms -> ",
			"fail 2 -> changed",
			"join 2 -> back 2, changed",
			"pass 500ms -> ",
			"fail 2 -> hint 2, changed",
			"join 2 -> back 2, changed",
			"pass 1m -> 30s: say 2 answers",
		}},
		{"what changes back while the log is quiet is not told", []string{
			"join 2 -> back 2, changed, say 2 joined",
			"pass 9s -> ",
			"fail 2 -> hint 2, changed",
			"join 2 -> back 2, changed",
			"pass 1m -> ",
		}},
		{"a node that leaves is not suspected when its process ends", []string{
			"join 2 as 7 -> back 2, changed, say 2 joined",
			"farewell 2 as 7 -> changed, say 2 left",
			"fail 2 -> ",
			"join 2 as 7 -> ", // an old word about it
			"join 2 as 8 -> back 2, changed, say 2 joined",
			"pass 1m -> ",
			"fail 2 -> hint 2, changed, say 2 suspected",
		}},
		{"the farewell of a process before this one is an old word", []string{
			"join 2 as 8 -> back 2, changed, say 2 joined",
			"farewell 2 as 7 -> ",
			"pass 1m -> ",
			"fail 2 -> hint 2, changed, say 2 suspected",
		}},
		{"another process of a node is told at once", []string{
			"join 2 as 7 -> back 2, changed, say 2 joined",
			"pass 1m -> ",
			"fail 2 -> hint 2, changed, say 2 suspected",
			"join 2 as 8 -> back 2, changed, say 2 restarted",
		}},
		{"what has to wait is told, whatever else is said meanwhile", []string{
			"join 2 -> back 2, changed, say 2 joined",
			"join 3 as 7 -> back 3, changed, say 3 joined",
			"fail 2 -> hint 2, changed",
			"farewell 3 as 7 -> changed, say 3 left",
			"fail 3 -> ", // its process has ended
			"pass 10s -> 10s: say 2 suspected",
			"join 1 -> ",
			"pass 1m -> ",
			"farewell 3 as 7 -> ",
			"pass 1m -> ",
			"join 3 as 7 -> ",
			"pass 1h -> 15m0s: changed, say 2 forgotten",
		}},
		{"a node that never comes back is forgotten", []string{
			"join 2 -> back 2, changed, say 2 joined",
			"join 3 -> back 3, changed, say 3 joined",
			"pass 1m -> ",
			"fail 2 -> hint 2, changed, say 2 suspected",
			"pass 1h -> 16m0s: changed, say 2 forgotten",
		}},
	} {
		t.Run(c.title, func(t *testing.T) {
			s := newStory(t)
			for i, line := range c.lines {
				event, want, _ := strings.Cut(line, " ->")
				if got := s.do(event); got != strings.TrimSpace(want) {
					t.Fatalf("line %d: after %q %q, want %q", i+1, event, got, strings.TrimSpace(want))
				}
			}
		})
	}
}

func TestWhatANodeTellsOfItselfIsTakenAsItChanges(t *testing.T) {
	s := newStory(t)
	s.do("join 2 as 7")
	r := process(2, 7)
	r.Rack = "elsewhere"
	if got := s.tell(s.m.join(s.now, r)); got != "changed" {
		t.Fatalf("decided %q", got)
	}
	if l := s.m.list(); len(l) != 1 || l[0].Rack != "elsewhere" || l[0].State != Alive {
		t.Fatalf("the members are %+v", l)
	}
}
