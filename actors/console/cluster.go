package console

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/api"
	"troupe/actors/controller"
	"troupe/cluster/image"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// clusterAnswer is what GET /cluster gives: who is there, how the metadata quorum stands, and the partitions, those first
// that want something.
type clusterAnswer struct {
	At       int64         `json:"at"` // Unix time in milliseconds
	Warnings []api.Warning `json:"warnings"`
	Brokers  []brokerRow   `json:"brokers"`
	Quorum   quorumPart    `json:"quorum"`
	// Total counts the partitions that match=; of the rest each counts those of all that are so.
	Total           int                `json:"total"`
	Offline         int                `json:"offline"`  // nobody leads
	UnderMin        int                `json:"underMin"` // fewer in sync than min.insync.replicas
	UnderReplicated int                `json:"underReplicated"`
	Partitions      []clusterPartition `json:"partitions"`
}

// brokerRow is a registered broker.
type brokerRow struct {
	ID       model.BrokerID `json:"id"`
	Address  string         `json:"address"` // that clients are told
	Rack     string         `json:"rack,omitempty"`
	State    string         `json:"state"` // serving, leaving or fenced
	Replicas int            `json:"replicas"`
	Leads    int            `json:"leads"`
	First    int            `json:"first"` // partitions whose first replica it is: where all is well it leads as many
}

// quorumPart is the leader's account; Error is why there is none.
type quorumPart struct {
	Error         string    `json:"error,omitempty"`
	Leader        int32     `json:"leader"`
	Epoch         int32     `json:"epoch"`
	HighWatermark int64     `json:"highWatermark"`
	Copies        []copyRow `json:"copies"`
}

// copyRow is one copy of the metadata log.
type copyRow struct {
	ID        int32  `json:"id"`
	Directory string `json:"directory"`
	Part      string `json:"part"` // leader, voter or observer
	End       int64  `json:"end"`
	Lag       int64  `json:"lag"`      // records that it lacks of the leader's
	CaughtUp  int64  `json:"caughtUp"` // milliseconds since it had all; -1 for not known
}

// clusterPartition is a partition by its metadata alone, which every broker has.
type clusterPartition struct {
	Topic     string           `json:"topic"`
	Partition int              `json:"partition"`
	State     string           `json:"state"` // offline, under-min, under-replicated, moving, or healthy
	Leader    model.BrokerID   `json:"leader"`
	Epoch     int32            `json:"epoch"`
	Replicas  []model.BrokerID `json:"replicas"`
	ISR       []model.BrokerID `json:"isr"`
	ELR       []model.BrokerID `json:"elr"`
}

// The states of partitions, the worst first.
var partitionStates = []string{"offline", "under-min", "under-replicated", "moving", "healthy"}

// cluster walks all partitions for each answer, as topics does.
func (s *Server) cluster(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit, err := rows(q)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	n := s.deps.Node
	a := clusterAnswer{At: n.Clock.Now().UnixMilli(), Warnings: n.Warnings(), Quorum: s.quorum(r)}
	a.Brokers = brokerRows(n.Image())
	s.walkPartitions(&a, q.Get("match"))
	slices.SortStableFunc(a.Partitions, func(x, y clusterPartition) int {
		return cmp.Compare(slices.Index(partitionStates, x.State), slices.Index(partitionStates, y.State))
	})
	a.Partitions = a.Partitions[:min(limit, len(a.Partitions))]
	answer(w, a)
}

func brokerRows(i *image.Image) []brokerRow {
	rows, at := []brokerRow{}, map[model.BrokerID]int{}
	for b := range i.Brokers() {
		row := brokerRow{ID: b.ID, State: "serving"}
		switch {
		case b.Fenced:
			row.State = "fenced"
		case b.InControlledShutdown:
			row.State = "leaving"
		}
		if len(b.Endpoints) > 0 {
			row.Address = fmt.Sprintf("%s:%d", b.Endpoints[0].Host, b.Endpoints[0].Port)
		}
		if b.Rack != nil {
			row.Rack = *b.Rack
		}
		at[b.ID] = len(rows)
		rows = append(rows, row)
	}
	count := func(id model.BrokerID, add func(*brokerRow)) {
		if n, there := at[id]; there {
			add(&rows[n])
		}
	}
	for t := range i.Topics("") {
		for _, p := range t.Partitions {
			for _, id := range p.Replicas {
				count(id, func(b *brokerRow) { b.Replicas++ })
			}
			count(p.Leader, func(b *brokerRow) { b.Leads++ })
			count(p.Replicas[0], func(b *brokerRow) { b.First++ })
		}
	}
	return rows
}

func (s *Server) walkPartitions(a *clusterAnswer, match string) {
	a.Partitions = []clusterPartition{}
	for t := range s.deps.Node.Image().Topics("") {
		least := 0 // found when a partition asks for it
		for number, p := range t.Partitions {
			row := clusterPartition{
				Topic: t.Name, Partition: number, State: "healthy", Leader: p.Leader, Epoch: int32(p.LeaderEpoch), Replicas: p.Replicas, ISR: p.ISR, ELR: p.ELR,
			}
			if len(p.ISR) < len(p.Replicas) && least == 0 {
				least = s.minISR(t.Name)
			}
			switch {
			case p.Leader == model.NoBroker:
				row.State = "offline"
				a.Offline++
			case len(p.ISR) < min(least, len(p.Replicas)):
				row.State = "under-min"
				a.UnderMin++
			case len(p.ISR) < len(p.Replicas) && !p.Reassigning():
				row.State = "under-replicated"
				a.UnderReplicated++
			case p.Reassigning():
				row.State = "moving"
			}
			if strings.Contains(t.Name, match) {
				a.Total++
				a.Partitions = append(a.Partitions, row)
			}
		}
	}
}

// minISR is min.insync.replicas of a topic; a setting that does not parse is another program's, and counts as 1.
func (s *Server) minISR(topic string) int {
	overrides := map[string]string{}
	for key, value := range s.deps.Node.Image().Config(image.ConfigResource{Type: image.TopicResource, Name: topic}).All() {
		overrides[key] = value
	}
	t, err := s.deps.Node.Layers().Topic(overrides)
	if err != nil {
		return 1
	}
	return int(t.MinInsyncReplicas)
}

// quorumWait is how long the leader may take to answer the page.
const quorumWait = 2 * time.Second

// quorum asks the leader of the metadata, wherever it is.
func (s *Server) quorum(r *http.Request) quorumPart {
	req := kmsg.NewPtrDescribeQuorumRequest()
	req.Version = 2
	topic, part := kmsg.NewDescribeQuorumRequestTopic(), kmsg.NewDescribeQuorumRequestTopicPartition()
	topic.Topic, topic.Partitions = "__cluster_metadata", []kmsg.DescribeQuorumRequestTopicPartition{part}
	req.Topics = append(req.Topics, topic)
	answered := make(chan kmsg.Response, 1)
	s.deps.Node.Controller.Send(&controller.Request{Body: req, Done: func(resp kmsg.Response) { answered <- resp }})
	known := s.deps.Node.Quorum()
	out := quorumPart{Leader: int32(known.Leader), Epoch: int32(known.LeaderEpoch), HighWatermark: int64(known.HighWatermark), Copies: []copyRow{}}
	timeout := time.NewTimer(quorumWait)
	defer timeout.Stop()
	select {
	case resp := <-answered:
		s.readQuorum(&out, resp.(*kmsg.DescribeQuorumResponse))
	case <-timeout.C:
		out.Error = "nobody who leads the metadata quorum has answered"
	case <-r.Context().Done():
	}
	return out
}

func (s *Server) readQuorum(out *quorumPart, resp *kmsg.DescribeQuorumResponse) {
	code := kerr.Code(resp.ErrorCode)
	if code == kerr.None && len(resp.Topics) == 1 && len(resp.Topics[0].Partitions) == 1 {
		code = kerr.Code(resp.Topics[0].Partitions[0].ErrorCode)
	}
	if code != kerr.None || len(resp.Topics) == 0 {
		out.Error = "nobody is known to lead the metadata quorum (" + code.Name() + ")"
		return
	}
	p := resp.Topics[0].Partitions[0]
	out.Leader, out.Epoch, out.HighWatermark = p.LeaderID, p.LeaderEpoch, p.HighWatermark
	end := p.HighWatermark
	for _, v := range p.CurrentVoters {
		if v.ReplicaID == p.LeaderID {
			end = v.LogEndOffset
		}
	}
	now := s.deps.Node.Clock.Now().UnixMilli()
	add := func(c kmsg.DescribeQuorumResponseTopicPartitionReplicaState, part string) {
		row := copyRow{ID: c.ReplicaID, Directory: model.UUID(c.ReplicaDirectoryID).String(), Part: part, End: c.LogEndOffset, Lag: max(end-c.LogEndOffset, 0), CaughtUp: -1}
		if c.LastCaughtUpTimestamp >= 0 {
			row.CaughtUp = max(now-c.LastCaughtUpTimestamp, 0)
		}
		out.Copies = append(out.Copies, row)
	}
	for _, v := range p.CurrentVoters {
		if v.ReplicaID == p.LeaderID {
			add(v, "leader")
		} else {
			add(v, "voter")
		}
	}
	for _, o := range p.Observers {
		add(o, "observer")
	}
}
