package quorum

import (
	"fmt"

	"troupe/internal/invariant"
)

// logger passes raft's remarks on and turns its panics into broken invariants.
type logger struct {
	log func(text string)
}

func (l logger) say(format string, v ...any) {
	if l.log != nil {
		l.log(fmt.Sprintf(format, v...))
	}
}

// Debug and Debugf are dropped: raft says something there for every message.
func (logger) Debug(...any)          {}
func (logger) Debugf(string, ...any) {}

func (l logger) Info(v ...any)                    { l.say("%s", fmt.Sprint(v...)) }
func (l logger) Infof(format string, v ...any)    { l.say(format, v...) }
func (l logger) Warning(v ...any)                 { l.say("%s", fmt.Sprint(v...)) }
func (l logger) Warningf(format string, v ...any) { l.say(format, v...) }
func (l logger) Error(v ...any)                   { l.say("%s", fmt.Sprint(v...)) }
func (l logger) Errorf(format string, v ...any)   { l.say(format, v...) }
func (logger) Panic(v ...any)                     { invariant.Check(false, "raft: %s", fmt.Sprint(v...)) }
func (logger) Panicf(format string, v ...any)     { invariant.Check(false, "raft: "+format, v...) }
func (logger) Fatal(v ...any)                     { invariant.Check(false, "raft: %s", fmt.Sprint(v...)) }
func (logger) Fatalf(format string, v ...any)     { invariant.Check(false, "raft: "+format, v...) }
