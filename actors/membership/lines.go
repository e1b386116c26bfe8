package membership

import (
	"log/slog"
	"strings"
)

// lines takes what memberlist logs. Of what is ordinary in the life of a network nobody wants to read, so all of it is for
// those who debug; but what came from outside and was refused is told nowhere else:
//
//	[ERR] memberlist: Decrypt packet failed: … from=10.0.0.7:7946
//
// and neither is what a probe came to, before others are told:
//
//	[INFO] memberlist: Suspect 2@CLUSTER has failed, no acks received
type lines struct {
	log     *slog.Logger
	refused func(reason string)
	doubted func(name string)
}

// own begin the complaints about what this node could not send: they name an address, too.
var own = []string{"Failed to send", "Failed to forward", "Failed to push", "Failed to encode", "Failed push/pull merge", "handler queue full", "Too many pending"}

// Write takes one line.
func (l *lines) Write(b []byte) (int, error) {
	text := strings.TrimSpace(string(b))
	level, rest, _ := strings.Cut(text, " memberlist: ")
	if (level == "[ERR]" || level == "[WARN]") && strings.Contains(rest, "from=") && !anyPrefix(rest, own) {
		l.refused(rest)
	}
	if name, ok := strings.CutPrefix(rest, "Suspect "); ok {
		if name, ok = strings.CutSuffix(name, " has failed, no acks received"); ok {
			l.doubted(name)
		}
	}
	l.log.Debug("gossip", "text", text)
	return len(b), nil
}

func anyPrefix(text string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(text, p) {
			return true
		}
	}
	return false
}
