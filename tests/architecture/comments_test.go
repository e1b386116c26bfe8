package architecture

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// Comments are reasons, invariants, formats and sources: fewer leave the reader alone, more say what the code says.
const leastComment, mostComment = 0.15, 0.25

func TestCommentsAreAFifthOfTheCode(t *testing.T) {
	total := map[string]*[2]int{}
	var comments, lines int
	for _, s := range sources(t, production) {
		c, l := s.commentLines()
		comments, lines = comments+c, lines+l
		layer := total[s.top()]
		if layer == nil {
			layer = new([2]int)
			total[s.top()] = layer
		}
		layer[0], layer[1] = layer[0]+c, layer[1]+l
	}
	for layer, n := range total {
		t.Logf("%-12s %5d lines, %4.1f %% comments", layer, n[1], 100*float64(n[0])/float64(n[1]))
	}
	share := float64(comments) / float64(lines)
	t.Logf("all: %d lines, %.1f %% comments", lines, 100*share)
	if share < leastComment || share > mostComment {
		t.Errorf("comments are %.1f %% of the lines that are not blank; want %.0f to %.0f", 100*share, 100*leastComment, 100*mostComment)
	}
}

// commentLines counts the lines that hold a comment, and all that are not blank. The lines of tables (composite
// literals) and imports are data and count as neither.
func (s source) commentLines() (comments, lines int) {
	data := map[int]bool{}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			s.within(n, data)
			return false
		case *ast.GenDecl:
			if n.Tok == token.IMPORT {
				s.within(n, data)
			}
		}
		return true
	})
	comment := map[int]bool{}
	for _, group := range s.file.Comments {
		for _, c := range group.List {
			first := s.line(c)
			for line := first; line <= s.fset.Position(c.End()).Line; line++ {
				comment[line] = true
			}
		}
	}
	for i, row := range strings.Split(string(s.text), "\n") {
		if strings.TrimSpace(row) == "" || data[i+1] {
			continue
		}
		lines++
		if comment[i+1] {
			comments++
		}
	}
	return comments, lines
}

// within marks the lines between a node's first and last.
func (s source) within(n ast.Node, lines map[int]bool) {
	for line := s.line(n) + 1; line <= s.fset.Position(n.End()).Line; line++ {
		lines[line] = true
	}
}

// An echo says in words what the line below says in code: every word of it is one of the code's own.
func TestNoCommentEchoesTheCode(t *testing.T) {
	for _, s := range sources(t, everything) {
		rows := strings.Split(string(s.text), "\n")
		for _, group := range s.file.Comments {
			first, last := s.fset.Position(group.Pos()), s.fset.Position(group.End())
			if first.Line != last.Line || last.Line >= len(rows) || strings.TrimSpace(rows[first.Line-1][:first.Column-1]) != "" {
				continue
			}
			if echoes(group, rows[last.Line]) {
				t.Errorf("%s:%d: %q says what the next line says", s.path, first.Line, strings.TrimSpace(group.Text()))
			}
		}
	}
}

var filler = strings.Fields("a an and are as by for from gets is it its of on returns set sets that the this to we with")

func echoes(group *ast.CommentGroup, code string) bool {
	said := words(group.Text())
	if len(said) < 2 || strings.HasPrefix(strings.TrimSpace(group.List[0].Text), "//go:") {
		return false
	}
	known := words(code)
	for _, word := range said {
		if !slices.Contains(filler, word) && !slices.Contains(known, word) && !slices.Contains(known, strings.TrimSuffix(word, "s")) {
			return false
		}
	}
	return true
}

var camel = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// words splits prose and identifiers alike into lower-case words.
func words(text string) []string {
	split := camel.ReplaceAllString(text, "$1 $2")
	return strings.FieldsFunc(strings.ToLower(split), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

func TestNothingIsLeftForLater(t *testing.T) {
	marks := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X|HA` + `CK)\b`)
	for _, s := range sources(t, everything) {
		for i, row := range strings.Split(string(s.text), "\n") {
			if marks.MatchString(row) {
				t.Errorf("%s:%d: %s", s.path, i+1, strings.TrimSpace(row))
			}
		}
	}
}

// A sleep makes a test slow when it is long and false when it is short: wait for what is awaited.
func TestTestsDoNotSleep(t *testing.T) {
	for _, s := range sources(t, func(s source) bool { return s.test() || s.top() == "tests" }) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.SelectorExpr)
			if !ok || call.Sel.Name != "Sleep" {
				return true
			}
			if from, ok := call.X.(*ast.Ident); ok && from.Name == "time" {
				t.Errorf("%s:%d: time.Sleep in a test", s.path, s.line(n))
			}
			return true
		})
	}
}
