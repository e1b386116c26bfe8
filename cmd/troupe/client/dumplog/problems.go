package dumplog

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
)

// problems collects what is wrong in files; the script tells of it on standard error after everything else.
type problems struct{ found []problem }

// problem is a pair of numbers that should agree.
type problem struct {
	kind       kind
	file       string
	have, want int64
}

// kind orders problems as they are told.
type kind int

const (
	indexMismatch kind = iota
	timeMismatch
	timeOrder
	timeNotFound
	offsetGap
)

// texts are the heading of a kind, and the line of a pair.
var texts = map[kind][2]string{
	indexMismatch: {"Mismatches in :%s\n", "  Index offset: %d, log offset: %d\n"},
	timeMismatch:  {"Found timestamp mismatch in :%s\n", "  Index timestamp: %d, log timestamp: %d\n"},
	timeOrder:     {"Found out of order timestamp in :%s\n", "  Index timestamp: %d, Previously indexed timestamp: %d\n"},
	timeNotFound:  {"The following indexed offsets are not found in :%s\n", "Indexed offset: %d, found log offset: %d\n"},
	offsetGap:     {"Non-consecutive offsets in %s\n", "  %d is followed by %d\n"},
}

// add keeps a pair under the file's full path, which the script prints.
func (p *problems) add(k kind, file string, have, want int64) {
	if path, err := filepath.Abs(file); err == nil {
		file = path
	}
	p.found = append(p.found, problem{k, file, have, want})
}

func (p *problems) index(file string, offset, found int64) { p.add(indexMismatch, file, offset, found) }
func (p *problems) mismatch(file string, index, log int64) { p.add(timeMismatch, file, index, log) }
func (p *problems) outOfOrder(file string, index, before int64) {
	p.add(timeOrder, file, index, before)
}
func (p *problems) notFound(file string, offset, found int64) {
	p.add(timeNotFound, file, offset, found)
}
func (p *problems) gap(file string, last, next int64) { p.add(offsetGap, file, last, next) }

// print tells of problems by kind and file. The script keeps mismatches of indexes and gaps in maps by the first number:
// the last pair of a number counts, and they come sorted, for indexes the highest offset first.
func (p *problems) print(w io.Writer) {
	slices.SortStableFunc(p.found, func(a, b problem) int {
		c := cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.file, b.file))
		switch {
		case c != 0 || !a.mapped():
			return c
		case a.kind == indexMismatch:
			return cmp.Compare(b.have, a.have)
		}
		return cmp.Compare(a.have, b.have)
	})
	for i, f := range p.found {
		if i == 0 || p.found[i-1].kind != f.kind || p.found[i-1].file != f.file {
			fmt.Fprintf(w, texts[f.kind][0], f.file)
		}
		if i+1 < len(p.found) && f.mapped() && p.found[i+1].kind == f.kind && p.found[i+1].file == f.file && p.found[i+1].have == f.have {
			continue
		}
		fmt.Fprintf(w, texts[f.kind][1], f.have, f.want)
	}
}

// mapped tells the kinds that the script keeps in maps; those of time indexes are lists, told in the order they came.
func (f problem) mapped() bool { return f.kind == indexMismatch || f.kind == offsetGap }
