package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
	"troupe/internal/model"
)

// InitProducerId (key 22), versions 0-5. Without a transactional id each request gets an id that nobody had before.
//
// Ordering key: the transactional id.
// Errors: 14 COORDINATOR_LOAD_IN_PROGRESS while no block of ids is there, 31 CLUSTER_AUTHORIZATION_FAILED, 35
// UNSUPPORTED_VERSION for a transactional id, 42 INVALID_REQUEST for an empty one and for a producer id without its
// epoch. Beside an error stand producer id and epoch -1.
var initProducerID = &Handler{
	Key: 22, Name: "InitProducerId", Min: 0, Max: 5, On: OnBroker,
	Order:  Order{Keys: initProducerIDKeys, Pipelined: true},
	Access: Access{IdempotentWrite, OnCluster},
	Handle: handleInitProducerID,
}

// handleInitProducerID gives a fresh id at epoch 0 whatever the client had before: without a transactional id there is
// no state by which the old one could be continued.
func handleInitProducerID(n *Node, r *Request) {
	req := r.Body.(*kmsg.InitProducerIDRequest)
	// kmsg leaves the fields of later versions at -1, which is "none".
	half := (req.ProducerID == -1) != (req.ProducerEpoch == -1)
	switch {
	case r.Version >= 3 && half, req.TransactionalID != nil && *req.TransactionalID == "":
		r.Reply(producerID(req, model.NoProducerID, -1, kerr.InvalidRequest))
	case req.TransactionalID != nil:
		r.Reply(producerID(req, model.NoProducerID, -1, transactionsRefused))
	default:
		n.Producers.Next(func(id model.ProducerID, code kerr.Code) {
			epoch := model.ProducerEpoch(0)
			if code != kerr.None {
				epoch = -1
			}
			r.Reply(producerID(req, id, epoch, code))
		})
	}
}

func producerID(req *kmsg.InitProducerIDRequest, id model.ProducerID, epoch model.ProducerEpoch, code kerr.Code) *kmsg.InitProducerIDResponse {
	resp := req.ResponseKind().(*kmsg.InitProducerIDResponse)
	resp.ErrorCode, resp.ProducerID, resp.ProducerEpoch = int16(code), int64(id), int16(epoch)
	return resp
}

func initProducerIDKeys(_ *Node, dst []uint64, body kmsg.Request) []uint64 {
	if id := body.(*kmsg.InitProducerIDRequest).TransactionalID; id != nil {
		dst = append(dst, coordinatorKey(transactionCoordinator, *id))
	}
	return dst
}
