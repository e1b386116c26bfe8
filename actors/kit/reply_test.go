package kit_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"troupe/actors/kit"
)

func TestTheFirstAnswerToARequestCounts(t *testing.T) {
	broken := errors.New("broken")
	give := func(r *kit.Reply[int]) { r.Give(1) }
	fail := func(r *kit.Reply[int]) { r.Fail(broken) }
	for _, c := range []struct {
		answers []func(*kit.Reply[int])
		want    string
	}{
		{[]func(*kit.Reply[int]){give, fail, give}, "1 <nil>"},
		{[]func(*kit.Reply[int]){fail, give}, "0 broken"},
		{nil, ""},
	} {
		var got []string
		r := kit.NewReply(func(v int, err error) { got = append(got, fmt.Sprint(v, " ", err)) })
		for _, answer := range c.answers {
			answer(r)
		}
		want := []string{c.want}
		if c.want == "" {
			want = nil
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
