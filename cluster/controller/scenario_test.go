package controller

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cluster/image"
	"troupe/cluster/record"
	"troupe/internal/model"
	"troupe/internal/scenario"
)

// The commands of the scenario files.
//
//	brokers 1 2:rack          registers and unfences brokers
//	Api version {json}        a request: the records it appends, and its reply when they are committed at once
//	hold                      from here on nothing is committed by itself
//	commit                    everything is committed
//	refuse                    the quorum will not take the next records
//	resign, lead              the node loses and regains leadership; lead open: the leader before left a transaction open
//	wait duration             time passes; what the machine does by itself
//	silence off               from here on brokers that serve send a heartbeat before a wait is over
//	level n                   before the first lead: the cluster begins at that metadata.version, and without ELR
//	gone id                   the controller of that number neither votes nor follows the log any more
//	file unclean              the node's file allows unclean elections from here on
//	counts                    what the machine has counted
//	show topic                the topic's partitions: replicas, ISR, ELR, leader, epochs
//
// In json "id(topic)" and "uuid(n)" stand for ids. Fields with their default are left out of the output.
func TestScenarios(t *testing.T) {
	scenario.Run(t, "testdata/*.txt", func(t *testing.T) func(string) string { return newStage(t).do })
}

// stage is a machine with a log that keeps what it is given.
type stage struct {
	t       *testing.T
	machine *Machine
	rules   *plainRules
	at      At
	epoch   model.LeaderEpoch
	log     []record.Record
	hold    bool
	refuse  bool
	beating bool
	token   Token
	// committed replays what is committed.
	committed *image.Editor
	upTo      int
	// topics finds names behind ids, deleted ones too.
	topics map[model.TopicID]string
}

func newStage(t *testing.T) *stage {
	s := &stage{
		t: t, rules: &plainRules{}, at: At{Time: time.UnixMilli(1_000_000)}, topics: map[model.TopicID]string{},
		committed: image.Empty("cluster").Edit(),
	}
	s.machine = s.founded(map[string]int16{image.ELRVersionFeature: 1})
	return s
}

// founded is the machine of a cluster that begins with some levels of features.
func (s *stage) founded(levels map[string]int16) *Machine {
	return New(Options{
		NodeID: 1, ClusterID: "cluster", Random: &counter{}, Rules: s.rules, Partitions: 1, ReplicationFactor: 1,
		SessionTimeout: 9 * time.Second, BalanceEvery: 300 * time.Second, UncleanEvery: 300 * time.Second, DeleteTopics: true, KRaftVersion: 1,
		Features: []record.FeatureRange{{Name: "group.version", MaxSupportedVersion: 1}, {Name: "share.version", MaxSupportedVersion: 1}, {Name: image.ELRVersionFeature, MaxSupportedVersion: 1}},
		Initial:  map[string]string{minISRKey: "1"}, Levels: levels,
	})
}

// counter gives every id (16 bytes) another number, and draws (8 bytes) of 0: placement starts at the first broker.
type counter struct{ n byte }

func (c *counter) Read(b []byte) (int, error) {
	clear(b)
	if len(b) == 16 {
		c.n++
		b[0] = c.n
	}
	return len(b), nil
}

var _ io.Reader = (*counter)(nil)

func (s *stage) do(command string) string {
	name, rest, _ := strings.Cut(command, " ")
	switch name {
	case "lead":
		return s.lead(rest == "open")
	case "resign":
		s.log = s.log[:s.upTo]
		return s.replies(s.machine.Resign())
	case "hold":
		s.hold = true
	case "commit":
		s.hold = false
		return s.commit()
	case "refuse":
		s.refuse = true
	case "brokers":
		return s.brokers(strings.Fields(rest))
	case "wait":
		return s.wait(rest)
	case "silence":
		s.beating = true
	case "level":
		n, err := strconv.Atoi(rest)
		if err != nil {
			s.t.Fatal(err)
		}
		s.machine = s.founded(map[string]int16{image.MetadataVersionFeature: int16(n)})
	case "file":
		s.rules.unclean = rest == "unclean"
	case "counts":
		c := s.machine.Counts()
		return fmt.Sprintf("unclean %d, from ELR %d, silent %d\n", c.Unclean, c.FromELR, c.Silent)
	case "gone":
		s.at.Quorum = func(id model.BrokerID) bool { return fmt.Sprint(id) != rest }
	case "fence":
		id, err := strconv.Atoi(rest)
		if err != nil {
			s.t.Fatal(err)
		}
		return s.settle(s.machine.Fence(model.BrokerID(id)))
	case "show":
		return s.show(rest)
	default:
		version, body, _ := strings.Cut(rest, " ")
		return s.request(name, version, body)
	}
	return ""
}

func (s *stage) lead(open bool) string {
	s.epoch++
	// The leader's first entry is a control record.
	s.log = append(s.log, &record.NoOp{})
	s.at.Next = model.Offset(len(s.log))
	if open {
		begun := []record.Record{&record.BeginTransaction{}, &record.Topic{Name: "half", ID: model.TopicID{9, 9}}}
		s.log = append(s.log, begun...)
		s.at.Next += model.Offset(len(begun))
	}
	s.commit()
	i, _ := s.committed.Publish()
	return s.settle(s.machine.Lead(s.at, s.epoch, i, s.committed.InTransaction()))
}

func (s *stage) request(name, version, body string) string {
	var request kmsg.Request
	for key := range int16(kmsg.MaxKey + 1) {
		if kmsg.NameForKey(key) == name {
			request = kmsg.RequestForKey(key)
		}
	}
	v, err := strconv.Atoi(version)
	if request == nil || err != nil {
		s.t.Fatalf("unknown request %s %s", name, version)
	}
	if err := json.Unmarshal([]byte(s.ids(body)), request); err != nil {
		s.t.Fatalf("%s: %v", body, err)
	}
	request.SetVersion(int16(v))
	s.token++
	return s.settle(s.machine.Handle(s.at, s.token, request))
}

var placeholder = regexp.MustCompile(`"(id|uuid)\(([^)]*)\)"`)

func (s *stage) ids(body string) string {
	return placeholder.ReplaceAllStringFunc(body, func(text string) string {
		m := placeholder.FindStringSubmatch(text)
		var id model.UUID
		if n, err := strconv.Atoi(m[2]); err == nil && m[1] == "uuid" {
			id[15] = byte(n)
		} else {
			for candidate, topic := range s.topics {
				if topic == m[2] {
					id = candidate
				}
			}
		}
		out, err := json.Marshal(id)
		if err != nil {
			s.t.Fatal(err)
		}
		return string(out)
	})
}

// settle appends and commits, unless told otherwise.
func (s *stage) settle(e Effects) string {
	var out strings.Builder
	for _, r := range e.Append {
		if t, ok := r.(*record.Topic); ok {
			s.topics[t.ID] = t.Name
		}
		if _, err := record.Append(nil, r, e.Level); err != nil {
			s.t.Fatal(err)
		}
		fmt.Fprintf(&out, "append %s%s\n", strings.TrimSuffix(r.Key().String(), "Record"), s.render(reflect.ValueOf(r)))
	}
	if len(e.Append) > 0 {
		if s.refuse {
			s.refuse = false
			return out.String() + s.replies(s.machine.Refused())
		}
		s.machine.Appended(s.at.Next)
		s.log = append(s.log, e.Append...)
		s.at.Next = model.Offset(len(s.log))
	}
	out.WriteString(s.replies(e.Replies))
	if !s.hold {
		out.WriteString(s.commit())
	}
	return out.String()
}

func (s *stage) commit() string {
	for ; s.upTo < len(s.log); s.upTo++ {
		if err := s.committed.Apply(model.Offset(s.upTo), s.epoch, s.log[s.upTo]); err != nil {
			s.t.Fatal(err)
		}
	}
	out := s.replies(s.machine.Committed(model.Offset(s.upTo - 1)))
	i, _ := s.committed.Publish()
	if s.machine.Leading() && s.machine.pending == nil && !s.machine.current.Equal(i) {
		s.t.Fatal("the machine's state is not what was committed")
	}
	return out
}

func (s *stage) replies(replies []Reply) string {
	var out strings.Builder
	for _, r := range replies {
		// A reply must encode in the version of its request.
		r.Response.AppendTo(nil)
		fmt.Fprintf(&out, "reply %s\n", s.render(reflect.ValueOf(r.Response)))
	}
	return out.String()
}

func (s *stage) brokers(list []string) string {
	for _, each := range list {
		text, rack, racked := strings.Cut(each, ":")
		id, err := strconv.Atoi(text)
		if err != nil {
			s.t.Fatal(err)
		}
		extra := ""
		if racked {
			extra = fmt.Sprintf(`,"Rack":%q`, rack)
		}
		features := `[{"Name":"metadata.version","MinSupportedVersion":7,"MaxSupportedVersion":30},{"Name":"eligible.leader.replicas.version","MinSupportedVersion":0,"MaxSupportedVersion":1},{"Name":"group.version","MinSupportedVersion":0,"MaxSupportedVersion":1},{"Name":"share.version","MinSupportedVersion":0,"MaxSupportedVersion":1}]`
		s.request("BrokerRegistration", "4", fmt.Sprintf(
			`{"BrokerID":%d,"ClusterID":"cluster","IncarnationID":"uuid(%d)","LogDirs":["uuid(%d)"],"PreviousBrokerEpoch":-1,"Features":%s%s}`, id, 100+id, 10*id, features, extra))
		b, ok := s.machine.current.Broker(model.BrokerID(id))
		if !ok {
			s.t.Fatalf("broker %d was not registered", id)
		}
		s.request("BrokerHeartbeat", "1", fmt.Sprintf(`{"BrokerID":%d,"BrokerEpoch":%d,"CurrentMetadataOffset":%d}`, id, b.Epoch, s.at.Next-1))
	}
	return ""
}

func (s *stage) wait(text string) string {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}
	s.at.Time = s.at.Time.Add(d)
	var out strings.Builder
	for b := range s.machine.current.Brokers() {
		if s.beating && !b.Fenced {
			s.request("BrokerHeartbeat", "1", fmt.Sprintf(`{"BrokerID":%d,"BrokerEpoch":%d,"CurrentMetadataOffset":%d,"WantShutdown":%t}`,
				b.ID, b.Epoch, model.NoOffset, b.InControlledShutdown))
		}
	}
	for {
		e, _ := s.machine.Tick(s.at)
		if len(e.Append) == 0 {
			return out.String()
		}
		out.WriteString(s.settle(e))
	}
}

func (s *stage) show(name string) string {
	t, ok := s.machine.current.Topic(name)
	if !ok {
		return "no such topic\n"
	}
	var out strings.Builder
	for n, p := range t.Partitions {
		fmt.Fprintf(&out, "%d: replicas %v isr %v leader %d epochs %d/%d", n, p.Replicas, p.ISR, p.Leader, p.LeaderEpoch, p.Epoch)
		if len(p.ELR) > 0 {
			fmt.Fprintf(&out, " elr %v", p.ELR)
		}
		if len(p.LastKnownELR) > 0 {
			fmt.Fprintf(&out, " last known %v", p.LastKnownELR)
		}
		if p.Reassigning() {
			fmt.Fprintf(&out, " adding %v removing %v", p.Adding, p.Removing)
		}
		if p.LeaderRecoveryState == record.Recovering {
			out.WriteString(" recovering")
		}
		out.WriteString("\n")
	}
	return out.String()
}

// quiet are the fields that say nothing here.
var quiet = []string{"Version", "UnknownTags", "ThrottleMillis"}

// render prints a value without the fields that have their default.
func (s *stage) render(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return "null"
		}
		return s.render(v.Elem())
	case reflect.String:
		return strconv.Quote(v.String())
	case reflect.Slice:
		var list []string
		for i := range v.Len() {
			list = append(list, s.render(v.Index(i)))
		}
		return "[" + strings.Join(list, " ") + "]"
	case reflect.Array:
		return s.id(model.UUID(v.Bytes()))
	case reflect.Struct:
		return s.renderFields(v)
	}
	return fmt.Sprint(v.Interface())
}

func (s *stage) renderFields(v reflect.Value) string {
	defaults := reflect.New(v.Type())
	if d, ok := defaults.Interface().(interface{ Default() }); ok {
		d.Default()
	} else if _, ok := defaults.Interface().(*record.PartitionChange); ok {
		defaults = reflect.ValueOf(record.NewPartitionChange(0, model.TopicID{}))
	}
	var list []string
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		none := v.Field(i).Kind() == reflect.Slice && v.Field(i).Len() == 0 && v.Type() == reflect.TypeFor[record.Partition]()
		if none || slices.Contains(quiet, name) || reflect.DeepEqual(v.Field(i).Interface(), defaults.Elem().Field(i).Interface()) {
			continue
		}
		list = append(list, name+":"+s.render(v.Field(i)))
	}
	return "{" + strings.Join(list, " ") + "}"
}

func (s *stage) id(id model.UUID) string {
	if name, ok := s.topics[id]; ok {
		return "id(" + name + ")"
	}
	if id == (model.UUID{15: id[15]}) {
		return fmt.Sprintf("uuid(%d)", id[15])
	}
	return id.String()
}
