// Package verifiable is what kafka-verifiable-producer and kafka-verifiable-consumer share: both tell what happens as
// lines of JSON on standard output, for tests that check from outside what was acknowledged and what was read.
//
//	{"timestamp":1795986644501,"name":"startup_complete"}
package verifiable

import (
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"troupe/cmd/troupe/client/option"
)

// Head begins every event: when it happened, in milliseconds since 1970, and what it was.
type Head struct {
	Timestamp int64  `json:"timestamp"`
	Name      string `json:"name"`
}

// Now is the head of an event that happens now.
func Now(name string) Head { return Head{Timestamp: time.Now().UnixMilli(), Name: name} }

// Log writes events, from any goroutine. Their fields come in the order of the struct, which is the script's.
type Log struct {
	mu  sync.Mutex
	out *json.Encoder
	err error
}

// NewLog makes a log.
func NewLog(out io.Writer) *Log {
	l := &Log{out: json.NewEncoder(out)}
	l.out.SetEscapeHTML(false)
	return l
}

// Tell writes one event. Once a line could not be written no further one is: see Err.
func (l *Log) Tell(event any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = l.out.Encode(event)
	}
}

// Err tells why events could not be written.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return errors.New("Unable to write to standard out: " + l.err.Error())
	}
	return nil
}

// Command is option.Command for these two scripts, which explain themselves on standard output and succeed.
func Command(name, short string, s option.Streams, t option.Tool) *cobra.Command {
	c := option.Subcommand(name, short, s, t)
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 && c.Flags().NFlag() == 0 {
			return c.Help()
		}
		return run(c, args)
	}
	return c
}
