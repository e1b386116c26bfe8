package integration

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/tests/wire"
)

// session is the client's side of a fetch session (KIP-227).
type session struct {
	conn  *wire.Conn
	id    int32
	epoch int32
}

// next sends an incremental fetch of the topics in which something changed on the client's side.
func (s *session) next(req *kmsg.FetchRequest) *kmsg.FetchResponse {
	req.SessionID, req.SessionEpoch = s.id, s.epoch
	resp := wire.On[*kmsg.FetchResponse](s.conn, req)
	if resp.ErrorCode == 0 {
		s.id, s.epoch = resp.SessionID, s.epoch+1
	}
	return resp
}

// unchanged is a fetch that names no partition.
func unchanged(version int16) *kmsg.FetchRequest {
	req := fetchRequest(version, topic{}, 0)
	req.Topics = nil
	return req
}

func open(t *testing.T, address string, req *kmsg.FetchRequest) *session {
	t.Helper()
	s := &session{conn: wire.Dial(t, address)}
	if resp := s.next(req); resp.ErrorCode != 0 || resp.SessionID == 0 {
		t.Fatalf("no session: error %d, id %d", resp.ErrorCode, resp.SessionID)
	}
	return s
}

func TestASessionTellsOnlyWhatChanged(t *testing.T) {
	address := broker(t)
	writer := wire.Dial(t, address)
	busy, quiet := filled(t, address, 1), filled(t, address, 1)
	both := fetchRequest(fetchByID, busy, 1)
	both.Topics = append(both.Topics, fetchRequest(fetchByID, quiet, 1).Topics...)
	s := open(t, address, both)

	if resp := s.next(unchanged(fetchByID)); len(resp.Topics) != 0 {
		t.Fatalf("nothing changed, and %d topics are told", len(resp.Topics))
	}
	produce(writer, produceRequest(nameVersion, busy, 1, wire.Values(now(), "news").Bytes()))
	resp := s.next(unchanged(fetchByID))
	if len(resp.Topics) != 1 || resp.Topics[0].TopicID != busy.id || len(resp.Topics[0].Partitions[0].RecordBatches) == 0 {
		t.Fatalf("after a record one topic is to be told with it: %+v", resp.Topics)
	}
	// The client moves on in the busy partition: it is told nothing again.
	if resp := s.next(fetchRequest(fetchByID, busy, 2)); len(resp.Topics) != 0 {
		t.Errorf("nothing changed, and %d topics are told", len(resp.Topics))
	}
}

func TestASessionForgetsPartitions(t *testing.T) {
	address := broker(t)
	left, kept := filled(t, address, 1), filled(t, address, 1)
	both := fetchRequest(fetchByID, left, 1)
	both.Topics = append(both.Topics, fetchRequest(fetchByID, kept, 1).Topics...)
	s := open(t, address, both)
	expectCode(t, s.next(forgetting(left)).ErrorCode, 0)
	writer := wire.Dial(t, address)
	produce(writer, produceRequest(nameVersion, left, 1, wire.Values(now(), "unheard").Bytes()))
	produce(writer, produceRequest(nameVersion, kept, 1, wire.Values(now(), "news").Bytes()))
	resp := s.next(unchanged(fetchByID))
	if resp.ErrorCode != 0 || len(resp.Topics) != 1 || resp.Topics[0].TopicID != kept.id {
		t.Errorf("error %d, topics %+v; want the kept one alone", resp.ErrorCode, resp.Topics)
	}
}

func TestASessionEndsWithItsLastPartition(t *testing.T) {
	address := broker(t)
	from := filled(t, address, 1)
	s := open(t, address, fetchRequest(fetchByID, from, 1))
	id := s.id
	if resp := s.next(forgetting(from)); resp.ErrorCode != 0 || resp.SessionID != 0 {
		t.Errorf("error %d, session %d; want an answer outside of sessions", resp.ErrorCode, resp.SessionID)
	}
	s.id = id
	expectCode(t, s.next(unchanged(fetchByID)).ErrorCode, kerr.FetchSessionIDNotFound.Code)
}

// forgetting takes partition 0 of a topic out of a session.
func forgetting(gone topic) *kmsg.FetchRequest {
	req := unchanged(fetchByID)
	forget := kmsg.NewFetchRequestForgottenTopic()
	forget.TopicID, forget.Partitions = gone.id, []int32{0}
	req.ForgottenTopics = append(req.ForgottenTopics, forget)
	return req
}

func TestASessionSurvivesARequestOutOfTurn(t *testing.T) {
	address := broker(t)
	from := filled(t, address, 1)
	s := open(t, address, fetchRequest(fetchByID, from, 1))
	for _, c := range []struct {
		title string
		epoch int32
	}{{"a repeated epoch", 0}, {"a skipped epoch", 7}} {
		t.Run(c.title, func(t *testing.T) {
			req := unchanged(fetchByID)
			req.SessionID, req.SessionEpoch = s.id, s.epoch+c.epoch
			if c.epoch == 0 {
				req.SessionEpoch = s.epoch - 1
			}
			if req.SessionEpoch == 0 {
				s.next(unchanged(fetchByID))
				req.SessionEpoch = s.epoch - 1
			}
			resp := wire.On[*kmsg.FetchResponse](s.conn, req)
			expectCode(t, resp.ErrorCode, kerr.InvalidFetchSessionEpoch.Code)
			expectCode(t, s.next(unchanged(fetchByID)).ErrorCode, 0)
		})
	}
}

func TestASessionThatNobodyHasIsNotFound(t *testing.T) {
	address := broker(t)
	req := unchanged(fetchByID)
	req.SessionID, req.SessionEpoch = 123456, 1
	expectCode(t, wire.Ask[*kmsg.FetchResponse](t, address, req).ErrorCode, kerr.FetchSessionIDNotFound.Code)
}

func TestASessionThatWasClosedIsGone(t *testing.T) {
	address := broker(t)
	s := open(t, address, fetchRequest(fetchByID, filled(t, address, 1), 1))
	closing := unchanged(fetchByID)
	closing.SessionID, closing.SessionEpoch = s.id, -1
	if resp := wire.On[*kmsg.FetchResponse](s.conn, closing); resp.ErrorCode != 0 || resp.SessionID != 0 {
		t.Errorf("closing: error %d, session %d", resp.ErrorCode, resp.SessionID)
	}
	expectCode(t, s.next(unchanged(fetchByID)).ErrorCode, kerr.FetchSessionIDNotFound.Code)
}

func TestASessionKeepsToNamesOrIDs(t *testing.T) {
	address := broker(t)
	from := filled(t, address, 1)
	s := open(t, address, fetchRequest(fetchByName, from, 1))
	expectCode(t, s.next(fetchRequest(fetchByID, from, 1)).ErrorCode, kerr.FetchSessionTopicIDError.Code)
}

func TestASessionTellsErrorsUntilTheyAreOver(t *testing.T) {
	address := broker(t)
	from := filled(t, address, 1)
	req := fetchRequest(fetchByID, from, 1)
	missing := req.Topics[0].Partitions[0]
	missing.Partition = 5
	req.Topics[0].Partitions = append(req.Topics[0].Partitions, missing)
	s := open(t, address, req)
	for range 2 {
		resp := s.next(unchanged(fetchByID))
		if len(resp.Topics) != 1 || !slices.ContainsFunc(resp.Topics[0].Partitions, func(p kmsg.FetchResponseTopicPartition) bool {
			return p.Partition == 5 && p.ErrorCode == kerr.UnknownTopicOrPartition.Code
		}) {
			t.Errorf("an error that goes on is told each time: %+v", resp.Topics)
		}
	}
}
