package architecture

import (
	"go/ast"
	"slices"
	"testing"
)

// Limits of size, in lines.
const (
	longestFile     = 800
	longFile        = 400 // nine files of ten are shorter
	longestFunction = 70
)

func TestFilesStayShort(t *testing.T) {
	var sizes []int
	for _, s := range sources(t, everything) {
		sizes = append(sizes, s.lines)
		if s.lines > longestFile {
			t.Errorf("%s has %d lines, more than %d", s.path, s.lines, longestFile)
		}
	}
	slices.Sort(sizes)
	median, ninetieth := sizes[len(sizes)/2], sizes[len(sizes)*9/10]
	t.Logf("%d files: median %d lines, 90th percentile %d, longest %d", len(sizes), median, ninetieth, sizes[len(sizes)-1])
	if ninetieth >= longFile {
		t.Errorf("one file in ten has %d lines or more; the limit is %d", ninetieth, longFile)
	}
}

func TestFunctionsStayShort(t *testing.T) {
	for _, s := range sources(t, everything) {
		for _, decl := range s.file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			if n := s.statementLines(f); n >= longestFunction {
				t.Errorf("%s:%d: %s has %d lines; %d is the limit", s.path, s.line(f), f.Name.Name, n, longestFunction)
			}
		}
	}
}

// statementLines counts the lines of a function without those inside its composite literals: a table of cases is
// data, however long.
func (s source) statementLines(f *ast.FuncDecl) int {
	at := func(n ast.Node) (first, last int) {
		return s.fset.Position(n.Pos()).Line, s.fset.Position(n.End()).Line
	}
	first, last := at(f)
	count := last - first + 1
	ast.Inspect(f.Body, func(n ast.Node) bool {
		literal, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		first, last := at(literal)
		count -= last - first
		return false
	})
	return count
}
