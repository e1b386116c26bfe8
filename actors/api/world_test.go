package api

import (
	"bytes"
	"log/slog"
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/controller"
	"troupe/actors/disk"
	"troupe/actors/kit"
	"troupe/actors/replica"
	"troupe/cluster/image"
	"troupe/cluster/record"
	"troupe/codec/kerr"
	"troupe/configs"
	"troupe/internal/clock"
	"troupe/internal/model"
	"troupe/internal/vfs"
	"troupe/partitionlog"
)

// world is broker 1 with real replicas on a disk in memory, in one order of one seed. The metadata is what the test
// says, and the controller answers what the test gives it.
type world struct {
	t      testing.TB
	node   *Node
	system *kit.System
	clock  *clock.Manual
	order  *kit.Deterministic
	shard  kit.Ref
	image  *image.Image
	offset model.Offset
	client *Client

	// controlled is what the controller was asked; answer gives its reply.
	controlled []kmsg.Request
	answer     func(kmsg.Request) kmsg.Response
	nextID     model.ProducerID
	noIDs      kerr.Code
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{
		t: t, clock: clock.NewManual(time.UnixMilli(1_700_000_000_000)), order: kit.NewDeterministic(1),
		image: image.Empty("the-cluster"), client: &Client{Connection: 1, Listener: "PLAINTEXT", Principal: "User:ANONYMOUS"},
	}
	fs := vfs.NewCrashFS(1, w.clock)
	if err := fs.MkdirAll("/data", 0o755); err != nil {
		t.Fatal(err)
	}
	system := kit.NewSystem(kit.Options{Clock: w.clock, Dispatcher: w.order})
	nobody := system.Spawn("nobody", kit.Props{Kind: "test", New: func() kit.Behavior { return ignorant{} }})
	env := partitionlog.NewEnv(fs, vfs.NewDescriptors(1000))
	dir := disk.Open(system, env, "/data", model.DirectoryID{1}, disk.Lanes{}, nobody)
	log := slog.New(slog.DiscardHandler)
	pace := replica.Pace{First: time.Hour, Retention: time.Hour, Producers: time.Hour}
	deps := &replica.Deps{Self: 1, Log: log, TellCopies: true, ProducerExpiry: func() time.Duration { return time.Hour }}
	w.system = system
	w.shard = system.Spawn("replicas", replica.NewShard(deps, pace))
	w.node = &Node{
		ID: 1, Config: &configs.Broker{NodeID: 1}, Layers: w.layers, Images: w, Replicas: replica.NewDirectory(),
		Dirs:       []*disk.Dir{dir},
		Controller: system.Spawn("controller", kit.Props{Kind: "test", New: func() kit.Behavior { return fakeController{w} }}),
		Quorum:     func() controller.Status { return controller.Status{Leader: 1} }, Sessions: NewSessions(w.clock, 1000), Producers: w, Authorizer: AllowAll{},
		APIs: Table(), Clock: w.clock, Log: log, Stats: &Stats{},
	}
	w.node.Config.Fetch.MaxBytes, w.node.Config.Topics.DescribeMax = 55<<20, 2000
	w.broker(1, false)
	w.order.Run(1000)
	return w
}

// Image is part of ImageSource.
func (w *world) Image() *image.Image { return w.image }

// Next is part of ProducerIDs.
func (w *world) Next(done func(model.ProducerID, kerr.Code)) {
	if w.noIDs != kerr.None {
		done(model.NoProducerID, w.noIDs)
		return
	}
	done(w.nextID, kerr.None)
	w.nextID++
}

func (w *world) layers() configs.Layers {
	stored := func(name string) map[string]string {
		return maps.Collect(w.image.Config(image.ConfigResource{Type: image.BrokerResource, Name: name}).All())
	}
	static := map[string]string{"node.id": "1", "log.dirs": "/data"}
	return configs.Layers{Static: static, Default: stored(""), Broker: stored("1")}
}

type ignorant struct{}

func (ignorant) Receive(*kit.Context, kit.Message) {}

type fakeController struct{ *world }

func (c fakeController) Receive(_ *kit.Context, m kit.Message) {
	r := m.(*controller.Request)
	c.controlled = append(c.controlled, r.Body)
	r.Done(c.answer(r.Body))
}

// apply replays records of the metadata log.
func (w *world) apply(records ...record.Record) {
	w.t.Helper()
	e := w.image.Edit()
	for _, r := range records {
		if err := e.Apply(w.offset, 1, r); err != nil {
			w.t.Fatal(err)
		}
		w.offset++
	}
	w.image, _ = e.Publish()
}

// broker registers a broker that clients of the listener PLAINTEXT reach at port 9092 + its id.
func (w *world) broker(id model.BrokerID, fenced bool) {
	w.apply(&record.RegisterBroker{
		BrokerID: id, IncarnationID: model.UUID{byte(id)}, Fenced: fenced,
		Endpoints: []record.Endpoint{{Name: "PLAINTEXT", Host: "host-" + strconv.Itoa(int(id)), Port: uint16(9092 + id)}},
	})
}

// topic makes a topic whose partitions broker 1 leads alone, at epoch 0. Settings are key, value, key, value.
func (w *world) topic(name string, partitions int, settings ...string) model.TopicID {
	var id model.TopicID
	copy(id[:], name)
	w.topicOfID(id, name, partitions, settings...)
	return id
}

func (w *world) topicOfID(id model.TopicID, name string, partitions int, settings ...string) {
	w.t.Helper()
	records := []record.Record{&record.Topic{Name: name, ID: id}}
	for i := 0; i < len(settings); i += 2 {
		records = append(records, &record.Config{ResourceType: 2, ResourceName: name, Name: settings[i], Value: &settings[i+1]})
	}
	self := []model.BrokerID{1}
	for p := range partitions {
		records = append(records, &record.Partition{PartitionID: int32(p), TopicID: id, Replicas: self, ISR: self, Leader: 1})
	}
	w.apply(records...)
	overrides := maps.Collect(w.image.Config(image.ConfigResource{Type: image.TopicResource, Name: name}).All())
	cfg, err := w.layers().Topic(overrides)
	if err != nil {
		w.t.Fatal(err)
	}
	for p := range partitions {
		h := replica.NewHandle(model.TopicPartition{Topic: name, Partition: int32(p)}, id, w.node.Dirs[0], replica.ConfigOf(cfg))
		w.node.Replicas.Put(h)
		lead := &replica.BecomeLeader{ISR: self, Replicas: self}
		w.shard.Send(&replica.Host{Handle: h, Fresh: true, Lead: lead, Done: func() {}})
	}
	w.settle()
}

// settle lets the actors work until nothing is left to do.
func (w *world) settle() {
	w.t.Helper()
	const forever = 1_000_000
	if w.order.Run(forever) == forever {
		w.t.Fatal("the actors do not come to rest")
	}
}

// slot takes a request's outcome.
type slot struct {
	body   Body
	later  Deferred
	silent bool
	hungUp string
}

func (s *slot) Ready(b Body)          { s.body = b }
func (s *slot) ReadyLater(d Deferred) { s.later = d }
func (s *slot) Nothing()              { s.silent = true }
func (s *slot) Hangup(reason string)  { s.hungUp = reason }
func (s *slot) KeepBytes()            {}

// send hands a request to its handler and lets the actors work.
func (w *world) send(req kmsg.Request, version int16) *slot {
	w.t.Helper()
	req.SetVersion(version)
	h, ok := Lookup(req.Key(), w.client)
	if !ok || !h.Supports(version) {
		w.t.Fatalf("%s v%d is not answered here", kmsg.NameForKey(req.Key()), version)
	}
	s := &slot{}
	w.node.Handle(NewRequest(Arrival{Handler: h, Version: version, Body: req, Client: w.client, Received: w.clock.Now(), Slot: s}))
	w.settle()
	return s
}

// ask sends a request and gives the reply as a client decodes it. A long poll is answered as if its time were up.
func ask[Resp kmsg.Response](w *world, req kmsg.Request, version int16) Resp {
	w.t.Helper()
	s := w.send(req, version)
	switch {
	case s.later != nil:
		payload, ok := s.later.Poll(nil, true, Wake(func() {}))
		if !ok {
			w.settle()
			if payload, ok = s.later.Poll(nil, true, Wake(func() {})); !ok {
				w.t.Fatalf("%s is not answered at its deadline", kmsg.NameForKey(req.Key()))
			}
		}
		return decoded[Resp](w.t, req, w.filled(payload))
	case s.body != nil:
		return decoded[Resp](w.t, req, s.body.AppendTo(nil))
	}
	w.t.Fatalf("%s has no reply; hung up: %q", kmsg.NameForKey(req.Key()), s.hungUp)
	panic("unreachable")
}

// filled gives a payload as it goes over the wire, and lets go of it.
func (w *world) filled(p *Payload) []byte {
	w.t.Helper()
	defer p.Sent()
	var wire []byte
	from := 0
	for _, hole := range p.Holes {
		wire = append(wire, p.Bytes[from:hole.At]...)
		from = hole.At
		records := make([]byte, hole.Region.Len)
		if _, err := hole.Region.File.ReadAt(records, hole.Region.Pos); err != nil {
			w.t.Fatal(err)
		}
		wire = append(wire, records...)
	}
	wire = append(wire, p.Bytes[from:]...)
	if int64(len(wire)) != p.Len() {
		w.t.Fatalf("a payload that says %d bytes has %d", p.Len(), len(wire))
	}
	return wire
}

// decoded reads a reply and checks that it holds nothing else: kmsg overlooks bytes that it does not understand.
func decoded[Resp kmsg.Response](t testing.TB, req kmsg.Request, b []byte) Resp {
	t.Helper()
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	if err := resp.ReadFrom(b); err != nil {
		t.Fatalf("%s v%d: %v", kmsg.NameForKey(req.Key()), req.GetVersion(), err)
	}
	if again := resp.AppendTo(nil); !bytes.Equal(again, b) {
		t.Fatalf("%s v%d: of the reply's %d bytes %d are understood", kmsg.NameForKey(req.Key()), req.GetVersion(), len(b), len(again))
	}
	return resp.(Resp)
}

func expect(t testing.TB, what string, got int16, want kerr.Code) {
	t.Helper()
	if kerr.Code(got) != want {
		t.Errorf("%s: %s, want %s", what, kerr.Code(got).Name(), want.Name())
	}
}
