package api

import (
	"reflect"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
)

// codesMax is above every error code; facts/errors.csv ends with 136.
const codesMax = 192

// errorCounts count the error codes of replies, NONE too, by code + 1: -1 is UNKNOWN_SERVER_ERROR. As in Kafka (ErrorsPerSec)
// each place of a reply for a code counts: one a partition in most of them.
type errorCounts [codesMax]atomic.Int64

func (e *errorCounts) add(code kerr.Code, n int64) {
	at := int(code) + 1
	if at < 0 || at >= codesMax {
		at = 0
	}
	e[at].Add(n)
}

// Errors gives the number of each code that was answered.
func (r *RequestStats) Errors() map[kerr.Code]int64 {
	all := map[kerr.Code]int64{}
	for i := range r.errors {
		if n := r.errors[i].Load(); n > 0 {
			all[kerr.Code(i-1)] = n
		}
	}
	return all
}

// coded is a reply that tells its own codes, cheaper than they are found in it.
type coded interface {
	countCodes(*errorCounts)
}

// countReply counts the codes of a reply.
func (e *errorCounts) countReply(v *Served) {
	if c, ok := v.Reply.(coded); ok {
		c.countCodes(e)
		return
	}
	r, ok := v.Reply.(kmsg.Response)
	if !ok {
		return
	}
	value := reflect.ValueOf(r).Elem()
	place := &places[slotOf(v.Handler.Key)]
	p := place.Load()
	if p == nil || p.of != value.Type() {
		p = placesOf(value.Type())
		place.Store(p)
	}
	e.walk(p, value, v.Handler.coded(v.Version))
}

// walk visits the places of a value; own tells whether its own code is in this version.
func (e *errorCounts) walk(p *codePlaces, v reflect.Value, own bool) {
	if own && p.own >= 0 {
		e.add(kerr.Code(v.Field(p.own).Int()), 1)
	}
	for i := range p.lists {
		list := v.Field(p.lists[i].field)
		for j := range list.Len() {
			e.walk(p.lists[i].item, list.Index(j), true)
		}
	}
}

// codePlaces are the fields of a message type that hold error codes: kmsg calls them all ErrorCode.
type codePlaces struct {
	of    reflect.Type
	own   int // index of the field; -1 without
	lists []codeList
}

// codeList is a list of structures that hold codes.
type codeList struct {
	field int
	item  *codePlaces
}

// places are found at the first reply of each API.
var places [slots]atomic.Pointer[codePlaces]

func placesOf(t reflect.Type) *codePlaces {
	p := &codePlaces{of: t, own: -1}
	for i := range t.NumField() {
		f := t.Field(i)
		switch {
		case f.Name == "ErrorCode" && f.Type.Kind() == reflect.Int16:
			p.own = i
		case f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct:
			if item := placesOf(f.Type.Elem()); item.own >= 0 || len(item.lists) > 0 {
				p.lists = append(p.lists, codeList{i, item})
			}
		}
	}
	return p
}
