package integration

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/tests/wire"
)

// requestMaxBytes is the default of socket.request.max.bytes.
const requestMaxBytes = 100 << 20

func size(n int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

// framed puts the right size before the bytes of a request.
func framed(request ...byte) []byte { return append(size(int32(len(request))), request...) }

// resized sets the size of a changed frame right.
func resized(frame []byte) []byte {
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	return frame
}

func metadataOf(name string, version int16) kmsg.Request {
	req := kmsg.NewPtrMetadataRequest()
	asked := kmsg.NewMetadataRequestTopic()
	asked.Topic = &name
	req.Topics = append(req.Topics, asked)
	return wire.Versioned(req, version)
}

func TestBytesThatAreNoRequestCloseTheConnectionAndDisturbNobody(t *testing.T) {
	address := broker(t)
	bystander := wire.Dial(t, address)
	hello := append([]byte{0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3}, bytes.Repeat([]byte{0x5a}, 506)...)
	cases := []struct {
		title string
		bytes []byte
	}{
		{"an HTTP request", []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")},
		{"the first flight of TLS", hello},
		{"noise", bytes.Repeat([]byte{0xde, 0xad, 0xbe, 0xef}, 64)},
		{"a size of zero", size(0)},
		{"a size below zero", size(-1)},
		{"the lowest size", size(-1 << 31)},
		{"a size of 2 GiB", size(1<<31 - 1)},
		{"a size one byte above socket.request.max.bytes", size(requestMaxBytes + 1)},
		{"a frame that ends inside its header", framed(0, 18, 0, 0)},
		{"a client id longer than the frame", framed(0, 3, 0, 1, 0, 0, 0, 1, 0x7f, 0xff, 'a')},
		{"a client id of negative length other than null", framed(0, 3, 0, 1, 0, 0, 0, 1, 0xff, 0xfe)},
		{"an API key that nobody has", framed(3, 0xe7, 0, 0, 0, 0, 0, 1, 0xff, 0xff)},
		{"an API key below zero", framed(0xff, 0xff, 0, 0, 0, 0, 0, 1, 0xff, 0xff)},
		{"an API of the ZooKeeper age", wire.Frame(1, wire.Versioned(kmsg.NewPtrLeaderAndISRRequest(), 4))},
		{"Metadata below zero", framed(0, 3, 0xff, 0xff, 0, 0, 0, 1, 0xff, 0xff)},
		{"Metadata of the future", framed(0, 3, 0, 99, 0, 0, 0, 1, 0xff, 0xff)},
		{"a request without its body", framed(0, 3, 0, 1, 0, 0, 0, 1, 0xff, 0xff)},
		{"an array that claims two billion topics", framed(0, 3, 0, 1, 0, 0, 0, 1, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff)},
		{"a topic name longer than the frame", framed(0, 3, 0, 1, 0, 0, 0, 1, 0xff, 0xff, 0, 0, 0, 1, 0x7f, 0xff, 'a')},
		{"a tagged field longer than the frame", framed(0, 3, 0, 9, 0, 0, 0, 1, 0xff, 0xff, 1, 0, 0x7f)},
		{"a varint without an end", framed(append([]byte{0, 3, 0, 9, 0, 0, 0, 1, 0xff, 0xff, 0}, bytes.Repeat([]byte{0xff}, 12)...)...)},
	}
	for _, c := range cases {
		t.Run(c.title, func(t *testing.T) {
			conn := wire.Dial(t, address)
			conn.Write(c.bytes)
			conn.ExpectClosed()
			bystander.Call(metadataOf("nobody-disturbed", 1))
		})
	}
}

func TestVersionsOutsideTheRangeCloseTheConnection(t *testing.T) {
	address := broker(t)
	cases := []struct {
		req      kmsg.Request
		versions []int16
	}{
		{kmsg.NewPtrProduceRequest(), []int16{0, 1, 2, 14}},
		{kmsg.NewPtrFetchRequest(), []int16{0, 3, 19}},
		{kmsg.NewPtrListOffsetsRequest(), []int16{0, 12}},
		{kmsg.NewPtrMetadataRequest(), []int16{14}},
		{kmsg.NewPtrCreateTopicsRequest(), []int16{1, 8}},
		{kmsg.NewPtrDeleteTopicsRequest(), []int16{0, 7}},
		{kmsg.NewPtrDeleteRecordsRequest(), []int16{3}},
		{kmsg.NewPtrInitProducerIDRequest(), []int16{6, 7}},
		{kmsg.NewPtrOffsetForLeaderEpochRequest(), []int16{1, 5}},
		{kmsg.NewPtrDescribeConfigsRequest(), []int16{0, 5}},
		{kmsg.NewPtrAlterConfigsRequest(), []int16{3}},
		{kmsg.NewPtrIncrementalAlterConfigsRequest(), []int16{2}},
		{kmsg.NewPtrDescribeLogDirsRequest(), []int16{0, 6}},
		{kmsg.NewPtrCreatePartitionsRequest(), []int16{4}},
		{kmsg.NewPtrListPartitionReassignmentsRequest(), []int16{1}},
		{kmsg.NewPtrDescribeClusterRequest(), []int16{3}},
		{kmsg.NewPtrDescribeProducersRequest(), []int16{1}},
		{kmsg.NewPtrDescribeTopicPartitionsRequest(), []int16{1}},
	}
	for _, c := range cases {
		for _, version := range c.versions {
			t.Run(fmt.Sprintf("%s v%d", kmsg.NameForKey(c.req.Key()), version), func(t *testing.T) {
				conn := wire.Dial(t, address)
				conn.Write(wire.Frame(1, wire.Versioned(c.req, version)))
				conn.ExpectClosed()
			})
		}
	}
}

func TestHalfAFrameWaitsForItsOtherHalf(t *testing.T) {
	address := broker(t)
	slow, bystander := wire.Dial(t, address), wire.Dial(t, address)
	req := metadataOf("half", 9)
	frame := wire.Frame(7, req)
	for cut := 1; cut < len(frame); cut++ {
		slow.Write(frame[:cut])
		bystander.Call(metadataOf("half", 1))
		slow.Write(frame[cut:])
		slow.Receive(7, req)
	}
}

func TestHalfAFrameAtTheEndOfTheStreamIsDropped(t *testing.T) {
	conn := wire.Dial(t, broker(t))
	frame := wire.Frame(1, metadataOf("half", 9))
	conn.Write(frame[:len(frame)/2])
	conn.CloseWrite()
	conn.ExpectClosed()
}

func TestBytesAfterTheBodyOfARequestAreIgnored(t *testing.T) {
	address := broker(t)
	for _, version := range []int16{1, 12} {
		conn, req := wire.Dial(t, address), metadataOf("trailing", version)
		conn.Write(resized(append(wire.Frame(1, req), 1, 2, 3)))
		conn.Receive(1, req)
	}
}

func TestUnknownTaggedFieldsAreSkipped(t *testing.T) {
	conn := wire.Dial(t, broker(t))
	req := kmsg.NewPtrMetadataRequest()
	req.UnknownTags.Set(99, []byte("of a later version"))
	conn.Call(wire.Versioned(req, 12))
}

func TestApiVersionsOfTheFutureIsToldTheRangeAndGoesOn(t *testing.T) {
	conn := wire.Dial(t, broker(t))
	// The header is that of a flexible version; the body of one that nobody knows is not looked at.
	conn.Write(framed(0, 18, 0, 99, 0, 0, 0, 5, 0xff, 0xff, 0, 0xab, 0xcd))
	correlation, body := conn.Read()
	if correlation != 5 {
		t.Errorf("correlation id %d, want 5", correlation)
	}
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.SetVersion(0)
	if err := resp.ReadFrom(body); err != nil {
		t.Fatal(err)
	}
	expectCode(t, resp.ErrorCode, kerr.UnsupportedVersion.Code)
	if len(resp.ApiKeys) != 1 || resp.ApiKeys[0].ApiKey != 18 || resp.ApiKeys[0].MinVersion != 0 || resp.ApiKeys[0].MaxVersion < 4 {
		t.Errorf("ranges %+v, want that of ApiVersions alone", resp.ApiKeys)
	}
	conn.Call(wire.Versioned(apiVersionsRequest(), 3))
}

func apiVersionsRequest() *kmsg.ApiVersionsRequest {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "wire", "1"
	return req
}

func TestApiVersionsWithABadSoftwareNameIsRefused(t *testing.T) {
	conn := wire.Dial(t, broker(t))
	req := apiVersionsRequest()
	req.ClientSoftwareName = "-wire"
	resp := wire.On[*kmsg.ApiVersionsResponse](conn, wire.Versioned(req, 3))
	expectCode(t, resp.ErrorCode, kerr.InvalidRequest.Code)
}
