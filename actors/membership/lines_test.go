package membership

import (
	"fmt"
	"log/slog"
	"testing"
)

// The lines are those of memberlist v0.7.0 (net.go, state.go).
func TestWhatMemberlistLogsIsReadForWhatItTellsNowhereElse(t *testing.T) {
	for _, c := range []struct{ line, refused, doubted string }{
		{line: "[ERR] memberlist: Decrypt packet failed: no installed keys could decrypt the message from=10.0.0.7:7946\n",
			refused: "Decrypt packet failed: no installed keys could decrypt the message from=10.0.0.7:7946"},
		{line: `[ERR] memberlist: discarding packet with unacceptable label "x": from=10.0.0.7:7946`,
			refused: `discarding packet with unacceptable label "x": from=10.0.0.7:7946`},
		{line: "[WARN] memberlist: Got ping for unexpected node '9@x' from=10.0.0.7:7946",
			refused: "Got ping for unexpected node '9@x' from=10.0.0.7:7946"},
		{line: "[INFO] memberlist: Suspect 2@ours has failed, no acks received\n", doubted: "2@ours"},
		{line: "[ERR] memberlist: Failed to send ack: broken pipe from=10.0.0.7:7946"},
		{line: "[WARN] memberlist: Refuting a suspect message (from: 2@ours)"},
		{line: "[DEBUG] memberlist: Stream connection from=10.0.0.7:7946"},
	} {
		var refused, doubted string
		l := &lines{log: slog.New(slog.DiscardHandler), refused: func(s string) { refused += s }, doubted: func(s string) { doubted += s }}
		if _, err := fmt.Fprint(l, c.line); err != nil {
			t.Fatal(err)
		}
		if refused != c.refused || doubted != c.doubted {
			t.Errorf("%s: refused %q, doubted %q", c.line, refused, doubted)
		}
	}
}
