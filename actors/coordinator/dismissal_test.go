package coordinator

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/kerr"
)

func TestWhoIsSentAwayIsAnsweredInTheOrderOfTheRequests(t *testing.T) {
	refuse := func(kmsg.Request, kerr.Code) kmsg.Response { return nil }
	p := newPartition(&Deps{Refuse: refuse}, &kept{}).(*partition)
	const all = 20
	var got []Token
	for i := Token(1); i <= all; i++ {
		p.requests[i] = NewRequest(Call{}, refuse, func(kmsg.Response) { got = append(got, i) })
	}
	p.dismiss()
	if len(got) != all || !slices.IsSorted(got) {
		t.Errorf("answered in the order %v", got)
	}
}
