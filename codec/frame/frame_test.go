package frame_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"reflect"
	"runtime"
	"testing"
	"testing/iotest"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/frame"
)

const (
	produce       = 0
	saslHandshake = 17
	apiVersions   = 18
)

func TestSizesOutsideTheLimitAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		size uint32
		want int
	}{
		"one byte": {1, 1}, "the limit": {1000, 1000}, "over the limit": {1001, 0}, "nothing": {0, 0}, "negative": {0xffffffff, 0},
		"two gigabytes":             {0x7fffffff, 0},
		"GET of an HTTP request":    {binary.BigEndian.Uint32([]byte("GET ")), 0},
		"a TLS record, 16 03 01 02": {0x16030102, 0},
	} {
		got, err := frame.Size(binary.BigEndian.AppendUint32(nil, c.size), 1000)
		if got != c.want || (c.want == 0) != errors.Is(err, frame.ErrSize) {
			t.Errorf("%s: %d, %v", name, got, err)
		}
	}
}

func TestBodiesAreReadHoweverTheyArrive(t *testing.T) {
	body := bytes.Repeat([]byte("0123456789"), 30_000)
	for name, r := range map[string]io.Reader{
		"whole": bytes.NewReader(body), "byte by byte": iotest.OneByteReader(bytes.NewReader(body)), "in halves": iotest.HalfReader(bytes.NewReader(body)),
	} {
		got, err := frame.ReadBody(r, nil, len(body))
		if err != nil || !bytes.Equal(got, body) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	buf := make([]byte, 0, len(body))
	got, err := frame.ReadBody(bytes.NewReader(body), buf, len(body))
	if err != nil || &got[0] != &buf[:1][0] {
		t.Errorf("a buffer that is large enough was not used: %v", err)
	}
}

func TestAClaimedSizeIsNotSetAside(t *testing.T) {
	const claimed, sent, allowed = 100 << 20, 1000, 1 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := frame.ReadBody(bytes.NewReader(make([]byte, sent)), nil, claimed)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, io.ErrUnexpectedEOF) || len(got) != sent {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if bytes := after.TotalAlloc - before.TotalAlloc; bytes > allowed {
		t.Errorf("%d bytes set aside", bytes)
	}
}

// The bytes are those of the protocol's own description.
func TestRequestHeaders(t *testing.T) {
	for name, c := range map[string]struct {
		bytes string
		want  frame.RequestHeader
	}{
		"version 1":                   {"\x00\x00\x00\x08\x00\x00\x00\x07\x00\x02me", frame.RequestHeader{Key: produce, Version: 8, CorrelationID: 7, ClientID: []byte("me")}},
		"version 1, null client id":   {"\x00\x00\x00\x08\xff\xff\xff\xff\xff\xff", frame.RequestHeader{Key: produce, Version: 8, CorrelationID: -1}},
		"version 1, empty client id":  {"\x00\x00\x00\x08\x00\x00\x00\x07\x00\x00", frame.RequestHeader{Key: produce, Version: 8, CorrelationID: 7, ClientID: []byte{}}},
		"version 2":                   {"\x00\x12\x00\x03\x00\x00\x00\x07\x00\x02me\x00", frame.RequestHeader{Key: apiVersions, Version: 3, CorrelationID: 7, ClientID: []byte("me")}},
		"version 2 with two tags":     {"\x00\x12\x00\x03\x00\x00\x00\x07\xff\xff\x02\x01\x01x\x80\x01\x00", frame.RequestHeader{Key: apiVersions, Version: 3, CorrelationID: 7, Tags: frame.Tags{{Number: 1, Value: []byte("x")}, {Number: 128, Value: []byte{}}}}},
		"an API that is not known":    {"\x30\x39\x00\x63\x00\x00\x00\x07\x00\x02me", frame.RequestHeader{Key: 12345, Version: 99, CorrelationID: 7, ClientID: []byte("me")}},
		"a version that is too great": {"\x00\x12\x00\x63\x00\x00\x00\x07\x00\x02me\x00", frame.RequestHeader{Key: apiVersions, Version: 99, CorrelationID: 7, ClientID: []byte("me")}},
	} {
		h, body, err := frame.ParseRequestHeader([]byte(c.bytes + "body"))
		if err != nil || string(body) != "body" || !reflect.DeepEqual(h, c.want) {
			t.Errorf("%s: %+v, body %q, %v", name, h, body, err)
		}
		if got := frame.AppendRequestHeader(nil, c.want); string(got) != c.bytes {
			t.Errorf("%s: wrote %x, want %x", name, got, c.bytes)
		}
	}
}

func TestHeadersThatAreCutOffOrContradictThemselvesAreRefused(t *testing.T) {
	whole := "\x00\x12\x00\x03\x00\x00\x00\x07\x00\x02me\x02\x01\x01x\x05\x00"
	if _, _, err := frame.ParseRequestHeader([]byte(whole)); err != nil {
		t.Fatal(err)
	}
	for n := range len(whole) {
		if _, _, err := frame.ParseRequestHeader([]byte(whole[:n])); !errors.Is(err, frame.ErrHeader) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	for name, b := range map[string]string{
		"client id of -2 bytes": "\x00\x00\x00\x08\x00\x00\x00\x07\xff\xfe", "tags that fall": "\x00\x12\x00\x03\x00\x00\x00\x07\xff\xff\x02\x05\x00\x01\x00",
		"one tag twice":   "\x00\x12\x00\x03\x00\x00\x00\x07\xff\xff\x02\x05\x00\x05\x00",
		"2^32-1 tags":     "\x00\x12\x00\x03\x00\x00\x00\x07\xff\xff\xff\xff\xff\xff\x0f",
		"a count of 2^35": "\x00\x12\x00\x03\x00\x00\x00\x07\xff\xff\xff\xff\xff\xff\x7f",
	} {
		if _, _, err := frame.ParseRequestHeader([]byte(b)); !errors.Is(err, frame.ErrHeader) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// kmsg is an independent writer of the same headers.
func TestAnotherWriterOfHeadersAgrees(t *testing.T) {
	formatter := kmsg.NewRequestFormatter(kmsg.FormatterClientID("someone"))
	for _, version := range []int16{8, 9} {
		request := kmsg.NewPtrProduceRequest()
		request.Version = version
		b := formatter.AppendRequest(nil, request, 42)
		size, err := frame.Size(b, 1<<20)
		if err != nil || size != len(b)-frame.SizeLen {
			t.Fatalf("size %d, %v", size, err)
		}
		h, body, err := frame.ParseRequestHeader(b[frame.SizeLen:])
		if err != nil || h.Key != produce || h.Version != version || h.CorrelationID != 42 || string(h.ClientID) != "someone" {
			t.Fatalf("%+v, %v", h, err)
		}
		if string(body) != string(request.AppendTo(nil)) {
			t.Errorf("version %d: the body begins elsewhere", version)
		}
	}
}

func TestResponseHeadersCarryTagsExceptThatOfAPIVersions(t *testing.T) {
	tags := frame.Tags{{Number: 3, Value: []byte("t")}}
	for _, c := range []struct {
		key, version int16
		want         string
	}{
		{produce, 8, "\x00\x00\x00\x07"}, {produce, 9, "\x00\x00\x00\x07\x01\x03\x01t"}, {apiVersions, 0, "\x00\x00\x00\x07"},
		{apiVersions, 3, "\x00\x00\x00\x07"}, {apiVersions, 99, "\x00\x00\x00\x07"}, {saslHandshake, 1, "\x00\x00\x00\x07"},
	} {
		b := frame.AppendResponseHeader(nil, c.key, c.version, 7, tags)
		if string(b) != c.want {
			t.Errorf("key %d version %d: %x, want %x", c.key, c.version, b, c.want)
		}
		id, got, body, err := frame.ParseResponseHeader(append(b, "body"...), c.key, c.version)
		value, there := got.Get(3)
		if err != nil || id != 7 || string(body) != "body" || there != (len(c.want) > 4) || there && string(value) != "t" {
			t.Errorf("key %d version %d: %d %v %q %v", c.key, c.version, id, got, body, err)
		}
	}
	if _, _, _, err := frame.ParseResponseHeader([]byte{0, 0, 0}, produce, 9); !errors.Is(err, frame.ErrHeader) {
		t.Errorf("three bytes: %v", err)
	}
}

func TestAFrameIsClosedWithItsSize(t *testing.T) {
	b := frame.Begin([]byte("before"))
	b = append(b, "12345"...)
	frame.End(b, len("before"), 1000)
	if string(b) != "before\x00\x00\x03\xed12345" {
		t.Fatalf("%q", b)
	}
}

func TestHeadersAreParsedWithoutAllocation(t *testing.T) {
	b := frame.AppendRequestHeader(nil, frame.RequestHeader{Key: produce, Version: 9, ClientID: []byte("client")})
	if n := testing.AllocsPerRun(100, func() {
		if _, _, err := frame.ParseRequestHeader(b); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzRequestHeader(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		h, body, err := frame.ParseRequestHeader(b)
		if err != nil {
			if !errors.Is(err, frame.ErrHeader) {
				t.Fatal(err)
			}
			return
		}
		again, rest, err := frame.ParseRequestHeader(append(frame.AppendRequestHeader(nil, h), body...))
		if err != nil || !reflect.DeepEqual(again, h) || !bytes.Equal(rest, body) {
			t.Fatalf("%+v written and read is %+v, %v", h, again, err)
		}
	})
}

func FuzzResponseHeader(f *testing.F) {
	f.Fuzz(func(t *testing.T, key, version int16, b []byte) {
		id, tags, body, err := frame.ParseResponseHeader(b, key, version)
		if err != nil {
			if !errors.Is(err, frame.ErrHeader) {
				t.Fatal(err)
			}
			return
		}
		written := append(frame.AppendResponseHeader(nil, key, version, id, tags), body...)
		id2, tags2, body2, err := frame.ParseResponseHeader(written, key, version)
		if err != nil || id2 != id || !reflect.DeepEqual(tags2, tags) || !bytes.Equal(body2, body) {
			t.Fatalf("%d %v written and read is %d %v, %v", id, tags, id2, tags2, err)
		}
	})
}

func FuzzBody(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		const limit = 1 << 16
		if len(b) < frame.SizeLen {
			return
		}
		n, err := frame.Size(b, limit)
		if err != nil {
			return
		}
		sent := b[frame.SizeLen:]
		body, err := frame.ReadBody(bytes.NewReader(sent), nil, n)
		if (err == nil) != (len(sent) >= n) || len(body) > n || !bytes.Equal(body, sent[:len(body)]) {
			t.Fatalf("size %d, %d sent, %d read: %v", n, len(sent), len(body), err)
		}
	})
}
