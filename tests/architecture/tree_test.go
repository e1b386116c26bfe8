// Package architecture keeps the rules of the code base as tests: who may import whom, what a state machine may
// touch, how long files and functions grow, and how things are named.
package architecture

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// root is the module's directory, as seen from this package.
const root = "../.."

// module is the import path that the module's packages begin with.
const module = "troupe/"

// source is one Go file of the module. All build tags are read, so that the rules hold on every platform.
type source struct {
	path  string // slash-separated, from the module's root
	text  []byte
	fset  *token.FileSet
	file  *ast.File
	lines int
}

// dir is the folder of the file, which is its import path without the module.
func (s source) dir() string { return filepath.ToSlash(filepath.Dir(s.path)) }

// top is the first element of the path: the layer.
func (s source) top() string { return strings.SplitN(s.path, "/", 2)[0] }

func (s source) test() bool { return strings.HasSuffix(s.path, "_test.go") }

// base is the file's name without its folder.
func (s source) base() string { return filepath.Base(s.path) }

// line is where a node begins.
func (s source) line(n ast.Node) int { return s.fset.Position(n.Pos()).Line }

var loadTree = sync.OnceValues(func() ([]source, error) {
	var tree []source
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") || name == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		s, err := parse(path)
		if err != nil {
			return err
		}
		if !ast.IsGenerated(s.file) {
			tree = append(tree, s)
		}
		return nil
	})
	return tree, err
})

func parse(path string) (source, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return source{}, err
	}
	rel, err := filepath.Rel(root, path)
	if err != nil {
		return source{}, err
	}
	s := source{path: filepath.ToSlash(rel), text: text, fset: token.NewFileSet()}
	s.file, err = parser.ParseFile(s.fset, path, text, parser.ParseComments|parser.SkipObjectResolution)
	s.lines = bytes.Count(text, []byte("\n"))
	return s, err
}

// sources gives the files of the module that a rule concerns.
func sources(t *testing.T, concerns func(source) bool) []source {
	t.Helper()
	tree, err := loadTree()
	if err != nil {
		t.Fatalf("read the source tree: %v", err)
	}
	var some []source
	for _, s := range tree {
		if concerns(s) {
			some = append(some, s)
		}
	}
	return some
}

func everything(source) bool { return true }

func production(s source) bool { return !s.test() && s.top() != "tests" }

// imports gives the paths a file imports, unquoted.
func (s source) imports() []string {
	var paths []string
	for _, spec := range s.file.Imports {
		paths = append(paths, strings.Trim(spec.Path.Value, `"`))
	}
	return paths
}
