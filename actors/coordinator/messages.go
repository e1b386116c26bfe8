package coordinator

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/kit"
	"troupe/actors/replica"
	"troupe/cluster/image"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// Request asks the coordinator of a partition. It is answered once, with a reply in the request's version: a panic and
// a stop answer NOT_COORDINATOR, which sends the client to look for the coordinator and try again.
type Request struct {
	*kit.Reply[kmsg.Response]
	Call Call
}

// NewRequest makes a request. refuse makes an error reply; done gets the one reply, on an actor's goroutine.
func NewRequest(c Call, refuse func(kmsg.Request, kerr.Code) kmsg.Response, done func(kmsg.Response)) *Request {
	return &Request{Call: c, Reply: kit.NewReply(func(resp kmsg.Response, err error) {
		if err != nil {
			resp = refuse(c.Body, kerr.NotCoordinator)
		}
		done(resp)
	})}
}

// Lead says that this broker leads a partition of the topic.
type Lead struct {
	LeaderEpoch model.LeaderEpoch
	Handle      *replica.Handle
}

// Resign says that it does not any more.
type Resign struct {
	Partition int32
	TopicID   model.TopicID
}

// Metadata brings every coordinator an image whose topics, brokers or configurations differ from the one before.
type Metadata struct{ Delta image.Delta }

type (
	// pollDue looks again whether the replica is ready to be loaded from.
	pollDue struct{ attempt uint64 }
	// loaded is a piece of the log that a disk lane has read.
	loaded struct {
		attempt uint64
		batches []byte
		err     error
	}
	// appended is the replica's answer to a batch.
	appended struct {
		attempt uint64
		index   int
		result  replica.AppendResult
	}
	// due is the timer of the machine and of replies that wait too long.
	due struct{}
	// retryDue starts a partition again whose actor was given up.
	retryDue struct{ partition int32 }
)

func (*Request) MessageKind() string  { return "coordinator.request" }
func (*Lead) MessageKind() string     { return "coordinator.lead" }
func (*Resign) MessageKind() string   { return "coordinator.resign" }
func (*Metadata) MessageKind() string { return "coordinator.metadata" }
func (*pollDue) MessageKind() string  { return "coordinator.poll-due" }
func (*loaded) MessageKind() string   { return "coordinator.loaded" }
func (*appended) MessageKind() string { return "coordinator.appended" }
func (*due) MessageKind() string      { return "coordinator.due" }
func (*retryDue) MessageKind() string { return "coordinator.retry-due" }
