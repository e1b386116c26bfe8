// Package coordinator runs a replicated state machine over one partition of an internal topic: the group coordinator,
// and by the same frame the transaction and share coordinators. The shape is that of Kafka's newer coordinator runtime.
//
// A partition's actor loads the partition into a Machine, passes requests and time to it, appends the records that it
// decides on through the partition's replica, and keeps replies back until those records are committed:
//
//	effects := machine.Handle(at, token, call)        // it has replayed its own records from at.Next on
//	… the records of all requests of one mailbox batch become one record batch, which must get the offset at.Next …
//	committed up to an offset:  machine.Committed     // and the replies that waited for it leave
//	refused by the log:         machine.Rollback      // and the replies of what was refused leave as errors
//	anything unclear:           the machine is thrown away, and the next one loads the log
package coordinator

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cluster/image"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// Token is the shell's name for a request; it comes back with its reply, at once or any number of events later.
type Token uint64

// At is when an event happens, in time and in the log.
type At struct {
	Time time.Time
	// Next is the offset of the first record that the event leads to; the next ones follow without a gap.
	Next model.Offset
}

// Client is who sent a request.
type Client struct {
	ID   string // client.id
	Host string // as Kafka writes it: "/127.0.0.1"
}

// Call is a request. The machine answers in its version.
type Call struct {
	Client Client
	// Principal is whom the connection is authenticated as. It is of the request: records name clients without it.
	Principal string
	Body      kmsg.Request
}

// Record is one record of the partition. A nil Value is a tombstone.
type Record struct {
	Key, Value []byte
}

// Reply answers the request of the token.
type Reply struct {
	Token    Token
	Response kmsg.Response
}

// Effects is what the shell has to do after an event, in the order of the fields.
type Effects struct {
	// Append goes to the log as one atomic piece, from At.Next on. The machine has replayed it.
	Append []Record
	// Now are replies that depend on nothing that is not committed.
	Now []Reply
	// Replies are given when everything that was appended so far, Append included, is committed. When it is refused
	// they are replaced by what Refuse makes of their requests.
	Replies []Reply
}

// Origin is where a record that is replayed at loading stands.
type Origin struct {
	Offset model.Offset
	// ProducerID is that of a transactional batch, model.NoProducerID of any other.
	ProducerID model.ProducerID
}

// Machine is the state of one coordinator partition: replicated state, which only the replay of records changes, and
// soft state (who waits, sessions), which begins anew with Loaded. Its methods are called on one goroutine.
//
// Invariants that it keeps:
//  1. replicated state is changed by nothing but the replay of the records that it gives out, or is loaded from;
//  2. it can go back to the state before any record that is not committed;
//  3. each token is answered once, unless the shell answers it itself with Refuse.
type Machine interface {
	// Replay takes a record of the log while it is loaded, in order; an error tells what is wrong with the record.
	// What comes before the offset that Committed was last given is committed. The record's bytes are good during the
	// call only.
	Replay(o Origin, r Record) error
	// ReplayMarker ends a transaction of which records were loaded.
	ReplayMarker(o Origin, commit bool)
	// Loaded ends the loading: everything that was replayed is committed.
	Loaded(at At) Effects

	// Handle works on a request.
	Handle(at At, t Token, c Call) Effects
	// Due does what time brings; Next is when it wants to be called again, zero for never.
	Due(at At) Effects
	Next() time.Time
	// Metadata brings an image of the cluster's metadata: first after Loaded and before any request, with a delta from
	// nowhere that has the topics that changed while the log was loaded; then when topics, brokers or configurations did.
	Metadata(at At, d image.Delta) Effects
	// Committed tells that everything before next is committed.
	Committed(at At, next model.Offset) Effects
	// Rollback takes the state back to before the record at from, which the log refused with a code. It gives replies
	// for those who waited for these records beyond the requests that made them.
	Rollback(at At, from model.Offset, code kerr.Code) Effects
	// Refuse makes a request's reply for a coordinator that cannot serve it.
	Refuse(r kmsg.Request, code kerr.Code) kmsg.Response
}
