package api

import (
	"encoding/binary"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/trace"
	"troupe/codec/kerr"
	"troupe/codec/private"
	"troupe/internal/model"
	"troupe/partitionlog"
)

// inlineMax is the size up to which a region is copied into the reply: below it a second system call costs more than
// the copy.
const inlineMax = 16 << 10

var fetchBuffers = sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }}

// encodeFetch lays out a Fetch reply, with holes where the records of larger regions stand. kmsg would need the records
// in memory; everything else of the layout is its FetchResponse, and a test compares the two. Numbers are big-endian;
// the figures are versions, the words after / the form of version 12 and later.
//
//	throttle int32 | error int16, session int32 (7+) | topics: count int32/uvarint+1
//	  name int16+bytes/uvarint+1+bytes, or id 16 bytes (13+) | partitions: count
//	    number int32 | error int16 | high watermark, last stable offset int64 | log start int64 (5+)
//	    aborted: count, -1/0 for null | producer id, first offset int64
//	    preferred replica int32 (11+) | records: length int32/uvarint+1, bytes
//	    tags (12+): 0 diverging epoch int32, end int64 | 1 leader int32, epoch int32 (KIP-951, 16+)
//	      to followers private.TraceTag: the trace of an append among the records, 16 bytes (trace.Context)
//	tags: 0 endpoints of the leaders (16+)
func encodeFetch(op *fetchOp) *Payload {
	buf := fetchBuffers.Get().(*[]byte)
	e := fetchEncoder{op: op, version: op.request.Version, dst: (*buf)[:0]}
	e.flexible = e.version >= 12
	e.body()
	results := op.results
	op.results = nil
	return &Payload{Bytes: e.dst, Holes: e.holes, Sent: func() {
		for i := range results {
			results[i].region.Release()
		}
		if cap(e.dst) <= 1<<20 {
			*buf = e.dst
			fetchBuffers.Put(buf)
		}
	}}
}

// fetchEncoder appends one reply to a pooled buffer: a broker answers more fetches than anything else.
type fetchEncoder struct {
	op       *fetchOp
	version  int16
	flexible bool
	dst      []byte
	holes    []Hole
}

func (e *fetchEncoder) int16(v int16) { e.dst = binary.BigEndian.AppendUint16(e.dst, uint16(v)) }
func (e *fetchEncoder) int32(v int32) { e.dst = binary.BigEndian.AppendUint32(e.dst, uint32(v)) }
func (e *fetchEncoder) int64(v int64) { e.dst = binary.BigEndian.AppendUint64(e.dst, uint64(v)) }

// length writes the length of an array, string or bytes of which null is not meant.
func (e *fetchEncoder) length(n int) {
	if e.flexible {
		e.dst = binary.AppendUvarint(e.dst, uint64(n)+1)
		return
	}
	e.int32(int32(n))
}

// tags begins a list of n tagged fields, which ends every structure of a flexible version.
func (e *fetchEncoder) tags(n int) {
	if e.flexible {
		e.dst = binary.AppendUvarint(e.dst, uint64(n))
	}
}

// body writes topic after topic; neighbours of one topic share an entry.
func (e *fetchEncoder) body() {
	e.int32(0) // throttle time
	if e.version >= 7 {
		e.int16(int16(e.op.code))
		e.int32(e.op.sessionID)
	}
	results := e.op.results
	e.length(topicRuns(results))
	var hinted []model.BrokerID
	for from := 0; from < len(results); {
		to := from + 1
		for to < len(results) && sameTopic(&results[from], &results[to]) {
			to++
		}
		e.topic(results[from].part)
		e.length(to - from)
		for i := from; i < to; i++ {
			e.partition(&results[i])
			if l := results[i].leader; l != nil && e.version >= 16 {
				hinted = append(hinted, l.id)
			}
		}
		e.tags(0)
		from = to
	}
	e.endpoints(hinted)
}

// sameTopic compares the id too: a topic that was deleted and made again is another one under its name.
func sameTopic(a, b *fetchResult) bool {
	return a.part.topic == b.part.topic
}

// topicRuns counts the entries beforehand: their number stands before the first.
func topicRuns(results []fetchResult) int {
	n := 0
	for i := range results {
		if i == 0 || !sameTopic(&results[i-1], &results[i]) {
			n++
		}
	}
	return n
}

func (e *fetchEncoder) topic(p *fetchPart) {
	asked := p.topic.Value()
	switch {
	case e.version >= 13:
		e.dst = append(e.dst, asked.id[:]...)
	case e.flexible:
		e.dst = binary.AppendUvarint(e.dst, uint64(len(asked.name))+1)
		e.dst = append(e.dst, asked.name...)
	default:
		e.int16(int16(len(asked.name)))
		e.dst = append(e.dst, asked.name...)
	}
}

// partition writes one partition and remembers what its session's client knows from then on. An error is not
// remembered, so that the marks are told again when it is over (KIP-227).
func (e *fetchEncoder) partition(res *fetchResult) {
	p := res.part
	p.told, p.toldHighWatermark, p.toldLogStart = res.code == kerr.None, res.highWatermark, res.start
	e.int32(p.partition)
	e.int16(int16(res.code))
	e.int64(int64(res.highWatermark))
	e.int64(int64(res.lastStable))
	if e.version >= 5 {
		e.int64(int64(res.start))
	}
	e.aborted(res.aborted)
	if e.version >= 11 {
		preferred := model.NoBroker
		if res.nearer.found {
			preferred = res.nearer.id
		}
		e.int32(int32(preferred))
	}
	e.records(res)
	e.partitionTags(res)
}

// aborted is null for read_uncommitted, which clients tell from an empty list: they then need no filter.
func (e *fetchEncoder) aborted(list []partitionlog.AbortedTxn) {
	if list == nil {
		if e.flexible {
			e.dst = append(e.dst, 0)
		} else {
			e.int32(-1)
		}
		return
	}
	e.length(len(list))
	for _, a := range list {
		e.int64(int64(a.ProducerID))
		e.int64(int64(a.FirstOffset))
		e.tags(0)
	}
}

// records writes a region into the buffer when it is small, and leaves a hole for it otherwise.
func (e *fetchEncoder) records(res *fetchResult) {
	n, begin := int(res.region.Len), len(e.dst)
	e.length(n)
	if n == 0 {
		return
	}
	if n > inlineMax {
		e.holes = append(e.holes, Hole{At: len(e.dst), Region: res.region})
		return
	}
	at := len(e.dst)
	e.dst = append(e.dst, make([]byte, n)...)
	if m, err := res.region.File.ReadAt(e.dst[at:], res.region.Pos); m < n {
		// The bytes were there when the region was found: the segment was cut under the reader, who comes again.
		e.dst = e.dst[:begin]
		e.length(0)
		e.op.node.Log.Error("read of a region failed", "partition", res.part.handle.TP.String(), "err", err)
	}
}

// partitionTags writes the tags in rising order, each with its size before it.
func (e *fetchEncoder) partitionTags(res *fetchResult) {
	if !e.flexible {
		return
	}
	hint := res.leader != nil && e.version >= 16
	n := 0
	if res.diverging != nil {
		n++
	}
	if hint {
		n++
	}
	traced := e.traceOf(res)
	if traced.Traced() {
		n++
	}
	e.tags(n)
	if d := res.diverging; d != nil {
		e.dst = append(e.dst, 0, 4+8+1) // tag 0 and its size
		e.int32(int32(d.epoch))
		e.int64(int64(d.end))
		e.tags(0)
	}
	if hint {
		e.dst = append(e.dst, 1, 4+4+1) // tag 1 and its size
		e.int32(int32(res.leader.id))
		e.int32(int32(res.leader.epoch))
		e.tags(0)
	}
	if traced.Traced() {
		value := traced.Append(nil)
		e.dst = binary.AppendUvarint(e.dst, private.TraceTag)
		e.dst = binary.AppendUvarint(e.dst, uint64(len(value)))
		e.dst = append(e.dst, value...)
	}
}

// traceOf has a follower's copy go on with the trace of an append that is among the records.
func (e *fetchEncoder) traceOf(res *fetchResult) trace.Context {
	if !e.op.reader.follows() || res.region.Len == 0 {
		return trace.Context{}
	}
	return res.part.handle.TraceFrom(res.part.offset, res.limit)
}

// endpoints ends the body: tag 0 names the brokers that hints point to (KIP-951).
func (e *fetchEncoder) endpoints(hinted []model.BrokerID) {
	if !e.flexible {
		return
	}
	if len(hinted) == 0 {
		e.tags(0)
		return
	}
	var r kmsg.FetchResponse
	r.Version = e.version
	for _, b := range e.op.node.endpoints(e.op.request.Client) {
		if !slices.Contains(hinted, b.ID) {
			continue
		}
		nb := kmsg.NewFetchResponseBroker()
		nb.NodeID, nb.Host, nb.Port, nb.Rack = int32(b.ID), b.Host, b.Port, b.Rack
		r.Brokers = append(r.Brokers, nb)
	}
	// An empty message of this version is: throttle 4, error 2, session 4, topics 1 byte; its tags follow.
	const before = 4 + 2 + 4 + 1
	e.dst = append(e.dst, r.AppendTo(nil)[before:]...)
}
