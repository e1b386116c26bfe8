package group

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/coordinator"
	"troupe/actors/group/record"
	"troupe/cluster/image"
	"troupe/codec/kerr"
	"troupe/internal/model"
	"troupe/internal/scenario"
)

// The commands of the scenario files.
//
//	a: Api version {json}    client a sends a request: the records it appends, and the replies that leave
//	wait duration            time passes
//	hold                     from here on nothing is committed by itself
//	commit                   everything is committed
//	refuse CODE              the log refuses all that is not committed
//	topic NAME N             the topic is made with N partitions, or grows to as many
//	deleted TOPIC            the topic is deleted
//	hide TOPIC CLIENT        the authorizer lets the client not describe the topic
//	racks A B …              brokers 1, 2, … are in these racks
//	config GROUP KEY VALUE   a group's own setting; one that cannot be read is told of as "misread"
//	reload                   a new machine loads what is committed
//	log                      what the log has: the last value of each key
//
// Heartbeats of consumer groups have a short form (heartbeat_test.go). Member ids are written "a-1": client a's, the first
// one drawn. Protocols and assignments are written as text; "id(t)" is the topic id of t, "sub(t u)" a consumer's
// subscription to the topics t and u, "has(t t:0)" one that says what it has, "asg(t:0)" an assignment. Fields with their
// default are left out of the output.
func TestScenarios(t *testing.T) {
	scenario.Run(t, "testdata/*.txt", func(t *testing.T) func(string) string {
		s := newStage(t)
		return func(command string) string {
			s.misread.Reset()
			return s.do(command) + s.misread.String()
		}
	})
}

// stage is a machine with a log that keeps what it is given.
type stage struct {
	t       *testing.T
	machine *Machine
	random  *counter
	// metadata outlives the machine.
	metadata *metadata
	now      time.Time
	log      []coordinator.Record
	upTo     model.Offset // committed
	hold     bool
	asked    []asked // by token
	// parked are replies that wait for a commit.
	parked []parked
	// misread are settings that the machine could not read since the last command.
	misread strings.Builder
	hidden  map[string]bool // topic and principal
}

type asked struct {
	client string
	body   kmsg.Request
}

type parked struct {
	after model.Offset
	reply coordinator.Reply
}

func newStage(t *testing.T) *stage {
	s := &stage{t: t, random: &counter{}, metadata: newMetadata(t), now: time.UnixMilli(1_000_000), hidden: map[string]bool{}}
	s.load()
	return s
}

func (s *stage) load() string {
	s.machine = New(Options{
		SessionMin: 6 * time.Second, SessionMax: 30 * time.Minute, InitialDelay: 3 * time.Second, MembersMax: 4,
		MetadataMax: 10, Retention: 7 * 24 * time.Hour, RetentionCheck: 10 * time.Minute, Random: s.random,
		Consumer:    consumerOptions,
		MayDescribe: func(who Asker, topic string) bool { return !s.hidden[topic+" "+who.Principal] },
		Misread:     func(group, key, text string) { fmt.Fprintf(&s.misread, "misread %q %s %q\n", group, key, text) },
	})
	s.machine.Committed(s.at(), s.upTo)
	s.log, s.parked = s.log[:s.upTo], nil
	for i, r := range s.log {
		if err := s.machine.Replay(coordinator.Origin{Offset: model.Offset(i), ProducerID: model.NoProducerID}, r); err != nil {
			s.t.Fatal(err)
		}
	}
	out := s.settle(s.machine.Loaded(s.at()))
	return out + s.settle(s.machine.Metadata(s.at(), image.Delta{To: s.metadata.current}))
}

func (s *stage) at() coordinator.At {
	return coordinator.At{Time: s.now, Next: model.Offset(len(s.log))}
}

// counter gives every id another number.
type counter struct{ n byte }

func (c *counter) Read(b []byte) (int, error) {
	clear(b)
	c.n++
	b[len(b)-1] = c.n
	return len(b), nil
}

func (s *stage) do(command string) string {
	name, rest, _ := strings.Cut(command, " ")
	switch name {
	case "hold":
		s.hold = true
		return ""
	case "commit":
		s.hold = false
		return s.commit()
	case "refuse":
		return s.refuse(rest)
	case "deleted":
		return s.settle(s.machine.Metadata(s.at(), s.metadata.remove(rest)))
	case "topic":
		topic, count, _ := strings.Cut(rest, " ")
		n, err := strconv.Atoi(count)
		if err != nil {
			s.t.Fatal(err)
		}
		return s.settle(s.machine.Metadata(s.at(), s.metadata.topic(topic, n)))
	case "hide":
		topic, client, _ := strings.Cut(rest, " ")
		s.hidden[topic+" User:"+client] = true
		return ""
	case "racks":
		return s.settle(s.machine.Metadata(s.at(), s.metadata.racks(strings.Fields(rest))))
	case "config":
		words := strings.Fields(rest)
		return s.settle(s.machine.Metadata(s.at(), s.metadata.config(words[0], words[1], words[2])))
	case "reload":
		return s.load()
	case "log":
		return s.showLog()
	case "wait":
		return s.wait(rest)
	}
	client, isRequest := strings.CutSuffix(name, ":")
	if !isRequest {
		s.t.Fatalf("no command %q", command)
	}
	return s.request(client, rest)
}

func (s *stage) request(client, line string) string {
	if r, short := heartbeat(s.t, client, line); short {
		return s.send(client, r)
	}
	fields := strings.SplitN(line, " ", 3)
	version, err := strconv.Atoi(fields[1])
	var body kmsg.Request
	for key := range int16(kmsg.MaxKey + 1) {
		if kmsg.NameForKey(key) == fields[0] {
			body = kmsg.RequestForKey(key)
		}
	}
	if err != nil || body == nil {
		s.t.Fatalf("unknown request %s", line)
	}
	if d, ok := body.(interface{ Default() }); ok {
		d.Default()
	}
	if err := json.Unmarshal([]byte(expand(fields[2])), body); err != nil {
		s.t.Fatalf("%s: %v", fields[2], err)
	}
	body.SetVersion(int16(version))
	if r, ok := body.(*kmsg.JoinGroupRequest); ok && r.Version == 0 {
		r.RebalanceTimeoutMillis = -1
	}
	return s.send(client, body)
}

func (s *stage) send(client string, body kmsg.Request) string {
	if code := s.early(body); code != kerr.None {
		return s.render(client, Refuse(body, code))
	}
	s.asked = append(s.asked, asked{client, body})
	call := coordinator.Call{Client: coordinator.Client{ID: client, Host: "/h"}, Principal: "User:" + client, Body: body}
	return s.settle(s.machine.Handle(s.at(), coordinator.Token(len(s.asked)-1), call))
}

// early is what is judged before the request reaches the coordinator.
func (s *stage) early(body kmsg.Request) kerr.Code {
	if r, ok := body.(*kmsg.JoinGroupRequest); ok {
		return s.machine.options.CheckJoin(r)
	}
	return kerr.None
}

// settle appends, and commits unless told otherwise.
func (s *stage) settle(e coordinator.Effects) string {
	var out strings.Builder
	for _, r := range e.Append {
		out.WriteString("append " + show(s.t, r) + "\n")
	}
	s.log = append(s.log, e.Append...)
	for _, r := range e.Now {
		out.WriteString(s.give(r))
	}
	for _, r := range e.Replies {
		s.parked = append(s.parked, parked{model.Offset(len(s.log)), r})
	}
	if !s.hold {
		out.WriteString(s.commit())
	} else if s.upTo == model.Offset(len(s.log)) {
		out.WriteString(s.release())
	}
	return out.String()
}

func (s *stage) commit() string {
	if s.upTo < model.Offset(len(s.log)) {
		s.upTo = model.Offset(len(s.log))
		out := s.release()
		return out + s.settle(s.machine.Committed(s.at(), s.upTo))
	}
	return s.release()
}

func (s *stage) release() string {
	var out strings.Builder
	for len(s.parked) > 0 && s.parked[0].after <= s.upTo {
		out.WriteString(s.give(s.parked[0].reply))
		s.parked = s.parked[1:]
	}
	return out.String()
}

func (s *stage) refuse(text string) string {
	code := kerr.CoordinatorNotAvailable
	if text != code.Name() {
		s.t.Fatalf("cannot refuse with %s", text)
	}
	var out strings.Builder
	for _, p := range s.parked {
		out.WriteString(s.give(coordinator.Reply{Token: p.reply.Token, Response: Refuse(s.asked[p.reply.Token].body, code)}))
	}
	s.parked, s.log = nil, s.log[:s.upTo]
	return out.String() + s.settle(s.machine.Rollback(s.at(), s.upTo, code))
}

func (s *stage) wait(text string) string {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}
	end := s.now.Add(d)
	var out strings.Builder
	for {
		next := s.machine.Next()
		if next.IsZero() || next.After(end) {
			break
		}
		s.now = next
		out.WriteString(s.settle(s.machine.Due(s.at())))
	}
	s.now = end
	return out.String()
}

func (s *stage) give(r coordinator.Reply) string {
	a := s.asked[r.Token]
	if a.body == nil {
		s.t.Fatalf("token %d is answered twice", r.Token)
	}
	s.asked[r.Token].body = nil
	r.Response.AppendTo(nil) // it must encode in the version of its request
	return s.render(a.client, r.Response)
}

func (s *stage) render(client string, r kmsg.Response) string {
	name := strings.TrimSuffix(reflect.TypeOf(r).Elem().Name(), "Response")
	return fmt.Sprintf("%s: %s%s\n", client, name, shorten(renderValue(reflect.ValueOf(r))))
}

func (s *stage) showLog() string {
	last := map[string]string{}
	for _, r := range s.log {
		if r.Value == nil {
			delete(last, string(r.Key))
		} else {
			last[string(r.Key)] = show(s.t, r)
		}
	}
	var lines []string
	for _, line := range last {
		lines = append(lines, line+"\n")
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// show writes a record in one line.
func show(t *testing.T, r coordinator.Record) string {
	e, err := record.Decode(r)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case e.Consumer != nil && e.Value == nil:
		return fmt.Sprintf("%s deleted", consumerKey(e.Consumer))
	case e.Consumer != nil:
		return fmt.Sprintf("%s %s", consumerKey(e.Consumer), renderValue(reflect.ValueOf(e.Value)))
	case e.Offset != nil && e.Committed == nil:
		return fmt.Sprintf("offset %s %s-%d deleted", e.Offset.Group, e.Offset.Topic, e.Offset.Partition)
	case e.Offset != nil:
		return fmt.Sprintf("offset %s %s-%d %s", e.Offset.Group, e.Offset.Topic, e.Offset.Partition, renderValue(reflect.ValueOf(e.Committed)))
	case e.State == nil:
		return fmt.Sprintf("group %s deleted", e.Group)
	}
	return shorten(fmt.Sprintf("group %s %s", e.Group, renderValue(reflect.ValueOf(e.State))))
}

func consumerKey(k *record.ConsumerKey) string {
	kinds := map[record.Kind]string{
		record.KindGroup: "epoch", record.KindMember: "member", record.KindTarget: "target-epoch", record.KindMemberTarget: "target",
		record.KindCurrent: "current", record.KindExpression: "regex",
	}
	return strings.TrimSpace(kinds[k.Kind] + " " + k.Group + " " + k.Name)
}

var (
	short = regexp.MustCompile(`"([a-z]+)-(\d+)"`)
	long  = regexp.MustCompile(`-00000000-0000-4000-8000-0000000000([0-9a-f]{2})`)
	texts = regexp.MustCompile(`text\(([^)]*)\)`)
	ids   = regexp.MustCompile(`id\(([^)]*)\)`)
	asgs  = regexp.MustCompile(`asg\(([^)]*)\)`)
	hass  = regexp.MustCompile(`has\((\S+) ([^)]*)\)`)
	subs  = regexp.MustCompile(`sub\(([^)]*)\)`)
)

// expand writes ids and bytes as JSON has them.
func expand(line string) string {
	line = short.ReplaceAllStringFunc(line, func(id string) string {
		p := short.FindStringSubmatch(id)
		n, _ := strconv.Atoi(p[2])
		return fmt.Sprintf(`"%s-00000000-0000-4000-8000-0000000000%02x"`, p[1], n)
	})
	encode := func(b []byte) string {
		text, _ := json.Marshal(b)
		return string(text)
	}
	line = texts.ReplaceAllStringFunc(line, func(m string) string { return encode([]byte(texts.FindStringSubmatch(m)[1])) })
	line = ids.ReplaceAllStringFunc(line, func(m string) string {
		id := idOf(ids.FindStringSubmatch(m)[1])
		return strings.ReplaceAll(fmt.Sprint(id[:]), " ", ",")
	})
	line = asgs.ReplaceAllStringFunc(line, func(m string) string {
		a := kmsg.NewConsumerMemberAssignment()
		for _, p := range partitionList(asgs.FindStringSubmatch(m)[1]) {
			a.Topics = append(a.Topics, kmsg.ConsumerMemberAssignmentTopic{Topic: p.topic, Partitions: []int32{p.number}})
		}
		return encode(a.AppendTo(nil))
	})
	line = hass.ReplaceAllStringFunc(line, func(m string) string {
		s := kmsg.NewConsumerMemberMetadata()
		s.Version, s.Topics = 1, []string{hass.FindStringSubmatch(m)[1]}
		for _, p := range partitionList(hass.FindStringSubmatch(m)[2]) {
			s.OwnedPartitions = append(s.OwnedPartitions, kmsg.ConsumerMemberMetadataOwnedPartition{Topic: p.topic, Partitions: []int32{p.number}})
		}
		return encode(s.AppendTo(nil))
	})
	return subs.ReplaceAllStringFunc(line, func(m string) string {
		s := kmsg.NewConsumerMemberMetadata()
		s.Topics = strings.Fields(subs.FindStringSubmatch(m)[1])
		return encode(s.AppendTo(nil))
	})
}

func shorten(line string) string {
	return long.ReplaceAllStringFunc(line, func(id string) string {
		n, _ := strconv.ParseInt(id[len(id)-2:], 16, 32)
		return "-" + strconv.FormatInt(n, 10)
	})
}

var quiet = []string{"Version", "UnknownTags", "ThrottleMillis"}

// renderValue prints a value without the fields that have their default.
func renderValue(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return "null"
		}
		return renderValue(v.Elem())
	case reflect.String:
		return v.String()
	case reflect.Array: // a topic's id
		return topicName(v.Convert(reflect.TypeFor[[16]byte]()).Interface().([16]byte))
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return renderBytes(v.Bytes())
		}
		var list []string
		for i := range v.Len() {
			list = append(list, renderValue(v.Index(i)))
		}
		return "[" + strings.Join(list, " ") + "]"
	case reflect.Struct:
		defaults := reflect.New(v.Type())
		if d, ok := defaults.Interface().(interface{ Default() }); ok {
			d.Default()
		}
		var list []string
		for i := range v.NumField() {
			name, field := v.Type().Field(i).Name, v.Field(i)
			same := reflect.DeepEqual(field.Interface(), defaults.Elem().Field(i).Interface())
			none := field.Kind() == reflect.Slice && field.Len() == 0
			if same || none || slices.Contains(quiet, name) {
				continue
			}
			list = append(list, name+":"+renderValue(field))
		}
		return "{" + strings.Join(list, " ") + "}"
	}
	return fmt.Sprint(v.Interface())
}

func renderBytes(b []byte) string {
	var s kmsg.ConsumerMemberMetadata
	var a kmsg.ConsumerMemberAssignment
	switch {
	case len(b) > 6 && a.ReadFrom(b) == nil && len(a.Topics) > 0 && len(a.AppendTo(nil)) == len(b):
		var list []string
		for _, t := range a.Topics {
			list = append(list, fmt.Sprint(t.Topic, t.Partitions))
		}
		return fmt.Sprintf("asg(%s)", strings.Join(list, " "))
	case len(b) > 6 && s.ReadFrom(b) == nil:
		return fmt.Sprintf("sub(%s)", strings.Join(s.Topics, " "))
	}
	return fmt.Sprintf("text(%s)", b)
}

// partitionList reads "t:0,u:1".
func partitionList(text string) (list []partition) {
	for _, each := range strings.Split(text, ",") {
		topic, number, _ := strings.Cut(each, ":")
		n, _ := strconv.Atoi(number)
		list = append(list, partition{topic, int32(n)})
	}
	return list
}
