package node

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
)

// keptOutput bounds what is kept of a broker's output, in bytes: enough for a goroutine dump. The newest is kept.
const keptOutput = 1 << 20

// Addresses is what the ready line tells.
type Addresses struct {
	Bootstrap string // host:port of the PLAINTEXT listener, or of the one that a controller alone has
	Admin     string // host:port of the admin port
}

// transcript takes a broker's output as it comes and announces the ready line.
type transcript struct {
	mu    sync.Mutex
	kept  bytes.Buffer
	line  []byte // the line that is not finished
	ready chan Addresses
	told  bool
}

func newTranscript() *transcript { return &transcript{ready: make(chan Addresses, 1)} }

var (
	listenerInLine = regexp.MustCompile(`listeners=\S*?PLAINTEXT://([^\s,"]+)`)
	soleInLine     = regexp.MustCompile(`listeners=CONTROLLER://([^\s,"]+) .*roles=controller`) // of a controller that is no broker
	adminInLine    = regexp.MustCompile(`admin=(?:http://)?([^\s,"]+)`)
)

// Write implements io.Writer for the broker's standard output and error together.
func (tr *transcript) Write(p []byte) (int, error) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.kept.Write(p)
	if tr.kept.Len() > 2*keptOutput {
		tr.kept.Next(tr.kept.Len() - keptOutput)
	}
	tr.line = append(tr.line, p...)
	for {
		line, rest, whole := bytes.Cut(tr.line, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		tr.announce(string(line))
		tr.line = append(tr.line[:0], rest...)
	}
}

func (tr *transcript) announce(line string) {
	listener, admin := listenerInLine.FindStringSubmatch(line), adminInLine.FindStringSubmatch(line)
	if listener == nil {
		listener = soleInLine.FindStringSubmatch(line)
	}
	if tr.told || listener == nil || admin == nil {
		return
	}
	tr.told = true
	tr.ready <- Addresses{Bootstrap: listener[1], Admin: admin[1]}
}

// text gives what the broker has printed, the newest part of it when it is long.
func (tr *transcript) text(limit int) string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	text := tr.kept.String()
	if len(text) > limit {
		text = "…" + text[len(text)-limit:]
	}
	return strings.TrimRight(text, "\n")
}
