package kerr_test

import (
	"errors"
	"fmt"
	"testing"

	"troupe/codec/kerr"
)

func TestAnyErrorHasACodeForTheWire(t *testing.T) {
	detailed := &kerr.Error{Code: kerr.InvalidConfig, Detail: "segment.bytes is 3"}
	for name, c := range map[string]struct {
		err     error
		code    kerr.Code
		message string
	}{
		"none":              {nil, kerr.None, ""},
		"a code":            {kerr.NotController, kerr.NotController, ""},
		"a detail":          {detailed, kerr.InvalidConfig, "segment.bytes is 3"},
		"a wrapped detail":  {fmt.Errorf("topic a: %w", detailed), kerr.InvalidConfig, "topic a: segment.bytes is 3"},
		"a wrapped code":    {fmt.Errorf("topic a: %w", kerr.InvalidConfig), kerr.InvalidConfig, "topic a: " + kerr.InvalidConfig.Error()},
		"one without codes": {errors.New("no space"), kerr.UnknownServerError, "no space"},
	} {
		if code, message := kerr.Of(c.err); code != c.code || message != c.message {
			t.Errorf("%s: %s %q, want %s %q", name, code.Name(), message, c.code.Name(), c.message)
		}
	}
	if !errors.Is(fmt.Errorf("x: %w", detailed), kerr.InvalidConfig) || errors.Is(detailed, kerr.InvalidRequest) {
		t.Error("errors.Is does not tell codes apart")
	}
}

func TestCodesOfANewerKafkaAreNamedByNumber(t *testing.T) {
	for _, code := range []kerr.Code{-2, 137, 32767} {
		if want := fmt.Sprintf("UNKNOWN(%d)", code); code.Name() != want || code.Retriable() || code.Error() == "" {
			t.Errorf("%s, %v, %q", code.Name(), code.Retriable(), code.Error())
		}
	}
	if got := (&kerr.Error{Code: kerr.InvalidTopicException}).Error(); got != kerr.InvalidTopicException.Error() {
		t.Errorf("without a detail: %q", got)
	}
}
