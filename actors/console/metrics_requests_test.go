package console_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
)

// listOffsets asks for partitions of a topic, one of which may not be there.
func listOffsets(topic string, partitions ...int32) *kmsg.ListOffsetsRequest {
	req := kmsg.NewPtrListOffsetsRequest()
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	for _, n := range partitions {
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp = n, -1
		t.Partitions = append(t.Partitions, p)
	}
	req.Topics = append(req.Topics, t)
	return req
}

func TestErrorsAreCountedByWhatWasAnswered(t *testing.T) {
	n := startNode(t)
	n.create("orders", 2)
	for range 3 { // the client shards requests by what it knows of leaders, so it is asked for one broker
		resp, err := n.client.Broker(1).Request(n.context(), listOffsets("orders", 0, 1, 7))
		if err != nil {
			t.Fatal(err)
		}
		if code := resp.(*kmsg.ListOffsetsResponse).Topics[0].Partitions[2].ErrorCode; kerr.Code(code) != kerr.UnknownTopicOrPartition {
			t.Fatalf("partition 7 is answered with %s", kerr.Code(code).Name())
		}
	}
	n.eventually("each answer is counted, and each code in it", func() bool { // after the answers have left
		m := n.metrics()
		return m[`kafka_network_requestmetrics_errors_total{error="NONE",request="ListOffsets"}`] == 6 &&
			m[`kafka_network_requestmetrics_errors_total{error="UNKNOWN_TOPIC_OR_PARTITION",request="ListOffsets"}`] == 3 &&
			m[`kafka_network_requestmetrics_totaltimems_count{request="ListOffsets"}`] == 3
	})
}

func TestTheStagesOfARequestAddUpToItsTime(t *testing.T) {
	n := startNode(t)
	n.create("orders", 1)
	n.produce("orders", 0, "a", "b", "c")
	req := kmsg.NewPtrFetchRequest() // of an empty range: it waits for all of its time
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = 1000, 1, 1<<20
	req.Version = 12
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic = "orders"
	part := kmsg.NewFetchRequestTopicPartition()
	part.FetchOffset, part.PartitionMaxBytes = 3, 1<<20
	topic.Partitions = append(topic.Partitions, part)
	req.Topics = append(req.Topics, topic)
	if _, err := n.client.Broker(1).Request(n.context(), &pinned{req}); err != nil {
		t.Fatal(err)
	}
	var m samples
	n.eventually("the fetch is counted", func() bool {
		m = n.metrics()
		return m[`kafka_network_requestmetrics_totaltimems_count{request="Fetch"}`] == 1
	})
	for _, api := range []string{"Produce", "Fetch"} {
		of := func(stage, part string) float64 {
			return m["kafka_network_requestmetrics_"+stage+part+`{request="`+api+`"}`]
		}
		sum := 0.0
		for _, stage := range []string{"requestqueuetimems", "localtimems", "remotetimems", "responsequeuetimems", "responsesendtimems"} {
			sum += of(stage, "_sum")
			if got, want := of(stage, "_count"), of("totaltimems", "_count"); got != want {
				t.Errorf("%s: %s has %v requests, of %v", api, stage, got, want)
			}
		}
		// Each of the sums is cut to whole microseconds.
		if total := of("totaltimems", "_sum"); sum > total+0.01 || sum < total-0.01 {
			t.Errorf("%s: the stages take %v ms, the requests %v", api, sum, total)
		}
	}
	// Its time began when it came: on a busy machine some of it is over before the fetch waits.
	if wait := m[`kafka_network_requestmetrics_remotetimems_sum{request="Fetch"}`]; wait < 100 {
		t.Errorf("a fetch that finds nothing in 1000 ms has waited for %v ms", wait)
	}
	if total := m[`kafka_network_requestmetrics_totaltimems_sum{request="Fetch"}`]; total < 1000 {
		t.Errorf("a fetch that finds nothing in 1000 ms is answered after %v ms", total)
	}
}

// pinned is a request that is sent in the version it has.
type pinned struct{ kmsg.Request }

// SetVersion is part of kmsg.Request.
func (*pinned) SetVersion(int16) {}

func TestAFetchThatWaitsIsInThePurgatory(t *testing.T) {
	n := startNode(t)
	n.create("orders", 1)
	n.produce("orders", 0, "a")
	m := n.metrics()
	waiting := `kafka_server_delayedoperationpurgatory_purgatorysize{delayedOperation="Fetch"}`
	if got, there := m[waiting]; !there || got != 0 {
		t.Errorf("nobody waits, and %v are told of", got)
	}
	n.eventually("a produce that was not throttled is counted", func() bool { // which is after its reply has left
		return n.metrics()[`kafka_network_requestmetrics_throttletimems_count{request="Produce"}`] >= 1
	})
	reader, err := kgo.NewClient(kgo.SeedBrokers(n.bootstrap), kgo.ConsumeTopics("orders"), kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd()))
	if err != nil {
		t.Fatal(err)
	}
	go reader.PollFetches(n.context())
	n.eventually("the fetch waits", func() bool { return n.metrics()[waiting] == 1 })
	reader.Close()
}
