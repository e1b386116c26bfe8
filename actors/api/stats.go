package api

import (
	"sync/atomic"
	"time"
)

// Stats counts what the broker's metrics tell of requests (facts/metrics.csv). All counters only grow.
type Stats struct {
	MessagesIn, BytesIn, BytesOut, BytesRejected atomic.Int64
	FailedProduce, FailedFetch                   atomic.Int64
	requests                                     [keyMax]atomic.Pointer[RequestStats]
}

// keyMax is above every API key.
const keyMax = 128

// timeBuckets are powers of two of 64 µs: the first holds what took less, the last what took more than two minutes.
const timeBuckets = 22

// RequestStats counts the requests of one API by version, and their times from arrival to written reply.
type RequestStats struct {
	ByVersion [32]atomic.Int64
	Buckets   [timeBuckets]atomic.Int64
	SumNanos  atomic.Int64
}

// Observe counts an answered request.
func (s *Stats) Observe(h *Handler, version int16, took time.Duration) {
	r := s.requests[h.Key].Load()
	if r == nil {
		s.requests[h.Key].CompareAndSwap(nil, &RequestStats{})
		r = s.requests[h.Key].Load()
	}
	r.ByVersion[version&31].Add(1)
	r.Buckets[bucketOf(took)].Add(1)
	r.SumNanos.Add(int64(took))
}

// Requests gives the counters of an API, nil before its first request.
func (s *Stats) Requests(key int16) *RequestStats { return s.requests[key].Load() }

func bucketOf(d time.Duration) int {
	b := 0
	for limit := BucketLimit(0); d >= limit && b < timeBuckets-1; limit *= 2 {
		b++
	}
	return b
}

// BucketLimit is the time below which bucket i counts, and above that of bucket i-1.
func BucketLimit(i int) time.Duration { return 64 * time.Microsecond << i }
