package integration

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/tests/wire"
)

// asked is a request of the pairs that are pipelined, made for a topic of the pair's own.
type asked struct {
	name string
	make func(to topic) kmsg.Request
}

func pipelined() []asked {
	incremental := func(key, value string) func(topic) kmsg.Request {
		return func(to topic) kmsg.Request {
			req := kmsg.NewPtrIncrementalAlterConfigsRequest()
			r := kmsg.NewIncrementalAlterConfigsRequestResource()
			r.ResourceType, r.ResourceName = ofTopic, to.name
			e := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
			e.Name, e.Value = key, &value
			r.Configs = append(r.Configs, e)
			req.Resources = append(req.Resources, r)
			return wire.Versioned(req, 1)
		}
	}
	return []asked{
		{"Produce", func(to topic) kmsg.Request {
			return produceRequest(nameVersion, to, 1, wire.Values(began, "pair").Bytes())
		}},
		{"Produce with acks=all", func(to topic) kmsg.Request {
			return produceRequest(nameVersion, to, -1, wire.Values(began, "pair", "of two").Bytes())
		}},
		{"Fetch", func(to topic) kmsg.Request { return fetchRequest(fetchByID, to, 0) }},
		{"ListOffsets", func(to topic) kmsg.Request {
			req := kmsg.NewPtrListOffsetsRequest()
			req.ReplicaID = -1
			p := kmsg.NewListOffsetsRequestTopicPartition()
			p.Timestamp = -1
			one := kmsg.NewListOffsetsRequestTopic()
			one.Topic, one.Partitions = to.name, append(one.Partitions, p)
			req.Topics = append(req.Topics, one)
			return wire.Versioned(req, 10)
		}},
		{"DeleteRecords", func(to topic) kmsg.Request {
			req := kmsg.NewPtrDeleteRecordsRequest()
			req.TimeoutMillis = 10_000
			p := kmsg.NewDeleteRecordsRequestTopicPartition()
			p.Offset = -1
			one := kmsg.NewDeleteRecordsRequestTopic()
			one.Topic, one.Partitions = to.name, append(one.Partitions, p)
			req.Topics = append(req.Topics, one)
			return wire.Versioned(req, 2)
		}},
		{"OffsetForLeaderEpoch", func(to topic) kmsg.Request {
			req := kmsg.NewPtrOffsetForLeaderEpochRequest()
			req.ReplicaID = -1
			one := kmsg.NewOffsetForLeaderEpochRequestTopic()
			p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
			p.CurrentLeaderEpoch = -1
			one.Topic, one.Partitions = to.name, append(one.Partitions, p)
			req.Topics = append(req.Topics, one)
			return wire.Versioned(req, 4)
		}},
		{"ApiVersions", func(topic) kmsg.Request { return wire.Versioned(apiVersionsRequest(), 3) }},
		{"DescribeCluster", func(topic) kmsg.Request { return wire.Versioned(kmsg.NewPtrDescribeClusterRequest(), 1) }},
		{"IncrementalAlterConfigs", incremental("retention.ms", "86400000")},
		{"a refused IncrementalAlterConfigs", incremental("retention.ms", "never")},
		{"CreateTopics of a topic that is there", func(to topic) kmsg.Request {
			req := kmsg.NewPtrCreateTopicsRequest()
			req.TimeoutMillis, req.Topics = 10_000, append(req.Topics, newTopic(to.name, 1, 1))
			return wire.Versioned(req, 7)
		}},
	}
}

// Requests of one connection may be worked on at once, but the answers are those of one at a time, in their order.
func TestPipelinedRequestsAreAnsweredAsIfOneAtATime(t *testing.T) {
	address := broker(t)
	for _, first := range pipelined() {
		for _, second := range pipelined() {
			t.Run(first.name+" then "+second.name, func(t *testing.T) {
				one, both := filled(t, address, 1), filled(t, address, 1)

				conn := wire.Dial(t, address)
				wantFirst, wantSecond := conn.Call(first.make(one)), conn.Call(second.make(one))

				conn = wire.Dial(t, address)
				a, b := first.make(both), second.make(both)
				conn.Write(append(wire.Frame(1, a), wire.Frame(2, b)...))
				gotFirst, gotSecond := conn.Receive(1, a), conn.Receive(2, b)

				expectSame(t, first.name, gotFirst, wantFirst, both, one)
				expectSame(t, second.name, gotSecond, wantSecond, both, one)
			})
		}
	}
}

// expectSame compares two answers, of which each is about its own topic.
func expectSame(t *testing.T, name string, got, want kmsg.Response, gotOf, wantOf topic) {
	t.Helper()
	g, w := printed(got, gotOf), printed(want, wantOf)
	if g != w {
		t.Errorf("%s is answered\n%s\npipelined, and alone\n%s", name, g, w)
	}
}

// printed shows an answer without what differs from one topic to another.
func printed(resp kmsg.Response, of topic) string {
	if v, ok := resp.(*kmsg.ApiVersionsResponse); ok {
		v.FinalizedFeaturesEpoch = 0 // it moves with every record of the metadata log
	}
	names := strings.NewReplacer(of.name, "TOPIC", fmt.Sprint(of.id), "ID")
	return names.Replace(dump(reflect.ValueOf(resp).Elem()))
}

// dump prints a message with what its pointers point to.
func dump(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return "null"
		}
		return dump(v.Elem())
	case reflect.Struct:
		var b strings.Builder
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Name != "UnknownTags" {
				fmt.Fprintf(&b, "%s:%s ", f.Name, dump(v.Field(i)))
			}
		}
		return "{" + b.String() + "}"
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return fmt.Sprintf("%x", v.Bytes())
		}
		var b strings.Builder
		for i := range v.Len() {
			b.WriteString(dump(v.Index(i)))
		}
		return "[" + b.String() + "]"
	}
	return fmt.Sprint(v.Interface())
}

// A barrier lets nothing behind it overtake: a topic that one request creates is there for the next.
func TestARequestAfterCreateTopicsSeesTheTopic(t *testing.T) {
	address := broker(t)
	conn, name := wire.Dial(t, address), freshName()
	create := kmsg.NewPtrCreateTopicsRequest()
	create.TimeoutMillis, create.Topics = 10_000, append(create.Topics, newTopic(name, 1, 1))
	wire.Versioned(create, 7)
	grow := kmsg.NewPtrCreatePartitionsRequest()
	grow.TimeoutMillis = 10_000
	more := kmsg.NewCreatePartitionsRequestTopic()
	more.Topic, more.Count = name, 3
	grow.Topics = append(grow.Topics, more)
	wire.Versioned(grow, 3)
	conn.Write(append(wire.Frame(1, create), wire.Frame(2, grow)...))
	expectCode(t, conn.Receive(1, create).(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode, 0)
	expectCode(t, conn.Receive(2, grow).(*kmsg.CreatePartitionsResponse).Topics[0].ErrorCode, 0)
}

// Many produce requests in flight are appended in the order in which they were sent.
func TestPipelinedBatchesKeepTheirOrder(t *testing.T) {
	address := broker(t)
	conn, to := wire.Dial(t, address), createTopic(t, address, 1)
	const count = 200
	reqs := make([]kmsg.Request, count)
	var frames []byte
	for i := range reqs {
		reqs[i] = produceRequest(nameVersion, to, -1, wire.Values(now(), fmt.Sprint(i)).Bytes())
		frames = append(frames, wire.Frame(int32(i), reqs[i])...)
	}
	conn.Write(frames)
	for i, req := range reqs {
		got := conn.Receive(int32(i), req).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
		if got.ErrorCode != 0 || got.BaseOffset != int64(i) {
			t.Fatalf("request %d: error %d, offset %d", i, got.ErrorCode, got.BaseOffset)
		}
	}
}
