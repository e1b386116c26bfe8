package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"troupe/actors/api"
	"troupe/actors/replica"
	"troupe/cluster/image"
	"troupe/internal/model"
)

// rowsMax is how many topics GET /topics gives, and groups GET /groups, unless limit= says otherwise.
const rowsMax = 100

// rows reads limit=.
func rows(q url.Values) (int, error) {
	n, err := count(q, "limit")
	if n == 0 {
		n = rowsMax
	}
	return n, err
}

// topicsAnswer is what GET /topics gives: the topics with most bytes here first, and with name= all partitions of one.
type topicsAnswer struct {
	At     int64      `json:"at"`    // Unix time in milliseconds
	Total  int        `json:"total"` // topics that match=
	Topics []topicRow `json:"topics"`
}

// topicRow is a topic of the cluster. Size and traffic are of this broker alone; the traffic of topics above the budget
// (api.TopicBudget) is 0.
type topicRow struct {
	Name       string `json:"name"`
	ID         string `json:"id"`
	Size       int64  `json:"size"` // bytes here
	MessagesIn int64  `json:"messagesIn"`
	BytesIn    int64  `json:"bytesIn"`
	BytesOut   int64  `json:"bytesOut"`
	// Count of the partitions, which are listed only where the topic is named.
	Count      int            `json:"count"`
	Offline    int            `json:"offline"` // without a leader
	Partitions []partitionRow `json:"partitions,omitempty"`
}

// partitionRow has offsets and sizes only of a partition that has a replica here.
type partitionRow struct {
	Partition     int32            `json:"partition"`
	Leader        model.BrokerID   `json:"leader"`
	LeaderEpoch   int32            `json:"leaderEpoch"`
	Replicas      []model.BrokerID `json:"replicas"`
	ISR           []model.BrokerID `json:"isr"`
	Here          bool             `json:"here"`
	Online        bool             `json:"online"`
	LogStart      int64            `json:"logStart"`
	HighWatermark int64            `json:"highWatermark"`
	LogEnd        int64            `json:"logEnd"`
	Size          int64            `json:"size"`
	Segments      int              `json:"segments"`
	Directory     string           `json:"directory,omitempty"`
}

// topics walks all topics for each answer: 10,000 take milliseconds, and the page asks for one list a second at most.
func (s *Server) topics(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit, err := rows(q)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	n := s.deps.Node
	a := topicsAnswer{At: n.Clock.Now().UnixMilli(), Topics: []topicRow{}}
	traffic, name, match := n.Stats.Topics(), q.Get("name"), q.Get("match")
	for t := range n.Image().Topics("") {
		if name != "" && t.Name != name || !strings.Contains(t.Name, match) {
			continue
		}
		a.Topics = append(a.Topics, s.topicRow(t, traffic[t.Name], name != ""))
	}
	a.Total = len(a.Topics)
	slices.SortStableFunc(a.Topics, func(a, b topicRow) int { return cmp.Compare(b.Size, a.Size) })
	a.Topics = a.Topics[:min(limit, a.Total)]
	answer(w, a)
}

// topicRow adds up a topic. Partitions are listed for one topic at a time, as there may be thousands.
func (s *Server) topicRow(t *image.Topic, traffic *api.Traffic, whole bool) topicRow {
	row := topicRow{Name: t.Name, ID: t.ID.String(), Count: len(t.Partitions)}
	if traffic != nil {
		row.MessagesIn, row.BytesIn, row.BytesOut = traffic.MessagesIn.Load(), traffic.BytesIn.Load(), traffic.BytesOut.Load()
	}
	for number, p := range t.Partitions {
		row.Offline += one(p.Leader == model.NoBroker)
		h := s.deps.Node.Replicas.Get(model.TopicPartition{Topic: t.Name, Partition: int32(number)})
		if h != nil {
			row.Size += h.Size()
		}
		if whole {
			row.Partitions = append(row.Partitions, describePartition(int32(number), p, h))
		}
	}
	return row
}

// describePartition puts together what the metadata says of a partition and what its replica here publishes. The offsets
// are -1 while the log is being opened.
func describePartition(number int32, p *image.Partition, h *replica.Handle) partitionRow {
	row := partitionRow{
		Partition: number, Leader: p.Leader, LeaderEpoch: int32(p.LeaderEpoch), Replicas: p.Replicas, ISR: p.ISR,
		LogStart: -1, HighWatermark: -1, LogEnd: -1,
	}
	if h == nil {
		return row
	}
	row.Here, row.Online, row.Size, row.Directory = true, h.Status().Online, h.Size(), h.Dir().Path
	if v := h.View(); v != nil {
		row.LogStart, row.HighWatermark, row.LogEnd = int64(v.LogStart), int64(v.HighWatermark), int64(v.LogEnd)
		row.Segments = v.Segments()
	}
	return row
}
