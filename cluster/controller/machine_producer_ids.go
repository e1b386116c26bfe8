package controller

import (
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cluster/record"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// producerIDBlock is how many producer ids a broker gets at once (KIP-730).
const producerIDBlock = 1000

// allocateProducerIDs gives a block to a broker. What the broker has not used when it stops is never used.
// Version 0, between brokers and controllers only.
//
// Errors: 77 the broker's epoch is stale, 102 it is not registered, -1 all 2^63 ids are given out.
func (m *Machine) allocateProducerIDs(r *kmsg.AllocateProducerIDsRequest) outcome {
	resp := reply[*kmsg.AllocateProducerIDsResponse](r)
	broker, epoch := model.BrokerID(r.BrokerID), model.BrokerEpoch(r.BrokerEpoch)
	next := m.current.NextProducerID
	_, err := m.registered(broker, epoch)
	if err == nil && next > math.MaxInt64-producerIDBlock {
		err = kerr.UnknownServerError
	}
	if err != nil {
		resp.ErrorCode = codeOf(err)
		return outcome{response: resp}
	}
	resp.ProducerIDStart, resp.ProducerIDLen = int64(next), producerIDBlock
	return outcome{[]record.Record{&record.ProducerIDs{
		BrokerID: broker, BrokerEpoch: epoch, NextProducerID: next + producerIDBlock,
	}}, resp}
}
