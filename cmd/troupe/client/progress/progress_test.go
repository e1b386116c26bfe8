package progress

import (
	"bytes"
	"testing"
)

func TestALineIsWrittenOverAndTakenAway(t *testing.T) {
	var out bytes.Buffer
	l := &Line{out: &out}
	l.Show("%d records", 1)
	l.Show("%d records", 2) // too soon after the first
	l.Clear()
	l.Clear() // nothing is there any more
	if want := "\r\x1b[K1 records\r\x1b[K"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestNothingIsWrittenWhereNobodyLooks(t *testing.T) {
	var errs, out bytes.Buffer
	l := On(&errs, &out, false)
	l.Show("%d records", 1)
	l.Clear()
	if errs.Len()+out.Len() > 0 {
		t.Errorf("wrote %q and %q", errs.String(), out.String())
	}
}
