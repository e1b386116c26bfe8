package integration

import (
	"encoding/binary"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/tests/wire"
)

// fetchRequest asks for partition 0 of a topic from an offset on, without waiting and outside of a session.
func fetchRequest(version int16, from topic, offset int64) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID, req.MaxWaitMillis, req.MinBytes, req.MaxBytes = -1, 0, 1, 50<<20
	req.SessionEpoch = -1
	p := kmsg.NewFetchRequestTopicPartition()
	p.FetchOffset, p.PartitionMaxBytes = offset, 1<<20
	one := kmsg.NewFetchRequestTopic()
	one.Topic, one.TopicID, one.Partitions = from.name, from.id, append(one.Partitions, p)
	req.Topics = append(req.Topics, one)
	return wire.Versioned(req, version)
}

func fetch(c *wire.Conn, req *kmsg.FetchRequest) kmsg.FetchResponseTopicPartition {
	return wire.On[*kmsg.FetchResponse](c, req).Topics[0].Partitions[0]
}

// fetchBytes gives the stored batches from an offset on.
func fetchBytes(t *testing.T, c *wire.Conn, from topic, offset int64) []byte {
	t.Helper()
	got := fetch(c, fetchRequest(17, from, offset))
	expectCode(t, got.ErrorCode, 0)
	if len(got.RecordBatches) < wire.AtRecords {
		t.Fatalf("%d bytes at offset %d", len(got.RecordBatches), offset)
	}
	return got.RecordBatches
}

// fetchBatch gives the header of the batch at an offset.
func fetchBatch(t *testing.T, c *wire.Conn, from topic, offset int64) kmsg.RecordBatch {
	t.Helper()
	var batch kmsg.RecordBatch
	if err := batch.ReadFrom(fetchBytes(t, c, from, offset)); err != nil {
		t.Fatal(err)
	}
	return batch
}

func baseOffset(batch []byte) int64 { return int64(binary.BigEndian.Uint64(batch)) }

// wholeBatches cuts fetched bytes into batches; the last may be incomplete and is left out.
func wholeBatches(t *testing.T, fetched []byte) [][]byte {
	t.Helper()
	var whole [][]byte
	for len(fetched) >= wire.AtRecords {
		size := 12 + int(binary.BigEndian.Uint32(fetched[wire.AtBatchLength:]))
		if size > len(fetched) {
			break
		}
		whole = append(whole, fetched[:size])
		fetched = fetched[size:]
	}
	return whole
}
