package api

import (
	"sync/atomic"
	"time"

	"troupe/internal/histogram"
)

// Stage is a part of the time that a request takes, by the names of Kafka's RequestMetrics.
type Stage uint8

const (
	// Queue is the wait for credits, and for earlier requests that share an ordering key: RequestQueueTimeMs.
	Queue Stage = iota
	// Local is the work of this broker: LocalTimeMs.
	Local
	// Remote is the wait for others, for records that a fetch asks for or for members of a group: RemoteTimeMs.
	Remote
	// ReplyQueue is the wait for the replies to earlier requests: ResponseQueueTimeMs.
	ReplyQueue
	// Send is encoding and writing: ResponseSendTimeMs.
	Send
	stages
)

// Shared is a reply of which a part of the time until it was there was others' work: that counts as Remote.
type Shared interface{ WaitedForOthers() time.Duration }

// Served is a request that was answered. The time of its stages adds up to Total, from its arrival to the end of writing.
type Served struct {
	Handler *Handler
	Version int16
	// Between tells that another node asked.
	Between bool
	// Reply is nil where there was none, or where its handler has counted its error codes.
	Reply  Body
	Total  time.Duration
	Stages [stages]time.Duration
}

// RequestStats counts the requests of one API.
type RequestStats struct {
	ByVersion [32]atomic.Int64
	Times     histogram.Histogram // from the arrival of the request to the end of writing the reply
	// stages hold what was not 0: most requests wait for nobody, and need not be counted for that.
	stages [stages]histogram.Histogram
	errors errorCounts
}

// Observe counts an answered request.
func (s *Stats) Observe(v *Served) {
	key := v.Handler.Key
	if v.Between && key == fetchKey {
		key = FollowerFetchKey
	}
	r := s.of(key)
	r.ByVersion[v.Version&31].Add(1)
	r.Times.Observe(v.Total)
	for i, d := range v.Stages {
		if d > 0 {
			r.stages[i].Observe(d)
		}
	}
	if v.Reply != nil {
		r.errors.countReply(v)
	}
}

func (s *Stats) of(key int16) *RequestStats {
	at := &s.requests[slotOf(key)]
	r := at.Load()
	if r == nil {
		at.CompareAndSwap(nil, &RequestStats{})
		r = at.Load()
	}
	return r
}

// Requests gives the counters of an API, nil before its first request.
func (s *Stats) Requests(key int16) *RequestStats { return s.requests[slotOf(key)].Load() }

// Stage gives the times of a stage, of as many requests as all, which is a reading of Times.
func (r *RequestStats) Stage(s Stage, all *histogram.Counts) histogram.Counts {
	c := r.stages[s].Read()
	if all.Count > c.Count {
		c.Buckets[0] += all.Count - c.Count
		c.Count = all.Count
	}
	return c
}
