package architecture

import (
	"go/ast"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// impure lists what a state machine does without: it decides, and its shell acts.
var impure = []string{
	"github.com/asynkron/protoactor-go", "os", "net", "sync", "syscall", "io/fs", "io/ioutil", "log", "log/slog",
	"crypto/rand", "golang.org/x/sys", "runtime", "context", "troupe/internal/clock", "troupe/internal/vfs",
}

// clockReads are the functions of package time that read or wait for the wall clock.
var clockReads = []string{"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "Tick", "NewTimer", "NewTicker"}

func machine(s source) bool { return production(s) && strings.HasPrefix(s.base(), "machine") }

func TestMachinesDoNoIO(t *testing.T) {
	for _, s := range sources(t, machine) {
		for _, path := range s.imports() {
			if slices.ContainsFunc(impure, func(p string) bool { return within(path, p) }) {
				t.Errorf("%s imports %s: a machine does no I/O, has no locks and asks nothing of the system", s.path, path)
			}
		}
	}
}

func TestMachinesReadNoClockAndStartNoGoroutine(t *testing.T) {
	for _, s := range sources(t, machine) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt:
				t.Errorf("%s:%d: goroutines and channels belong to the shell", s.path, s.line(n))
			case *ast.SelectorExpr:
				if from, ok := n.X.(*ast.Ident); ok && from.Name == "time" && slices.Contains(clockReads, n.Sel.Name) {
					t.Errorf("%s:%d: time.%s: the time comes with the event", s.path, s.line(n), n.Sel.Name)
				}
			}
			return true
		})
	}
}

// anyOrder begins the comment that says why the order of a map does not leak into what a machine decides.
const anyOrder = "any order:"

// A map gives its entries in another order each time, so a machine that walks one may decide differently from the
// same events, and a replay would not give the same state. Walk slices.Sorted(maps.Keys(m)) instead.
func TestMachinesWalkNoMapInRandomOrder(t *testing.T) {
	folders := map[string]bool{}
	excused := map[string]map[int]bool{}
	for _, s := range sources(t, machine) {
		folders["./"+s.dir()] = true
		excused[s.path] = excuses(s)
	}
	if len(folders) == 0 {
		return
	}
	for _, pkg := range typed(t, folders) {
		for i, file := range pkg.Syntax {
			path, err := filepath.Rel(absolute(t, root), pkg.CompiledGoFiles[i])
			if err != nil || !strings.HasPrefix(filepath.Base(path), "machine") {
				continue
			}
			ast.Inspect(file, func(n ast.Node) bool {
				loop, ok := n.(*ast.RangeStmt)
				if !ok || !unordered(pkg.TypesInfo, loop.X) {
					return true
				}
				line := pkg.Fset.Position(loop.Pos()).Line
				if known := excused[filepath.ToSlash(path)]; !known[line] && !known[line-1] {
					t.Errorf("%s:%d: walks a map; sort the keys, or say why the order does not leak in a comment %q", path, line, anyOrder)
				}
				return true
			})
		}
	}
}

// excuses gives the lines on which a comment that begins with anyOrder ends.
func excuses(s source) map[int]bool {
	lines := map[int]bool{}
	for _, group := range s.file.Comments {
		if strings.Contains(group.Text(), anyOrder) {
			lines[s.fset.Position(group.End()).Line] = true
		}
	}
	return lines
}

func typed(t *testing.T, folders map[string]bool) []*packages.Package {
	t.Helper()
	var patterns []string
	for folder := range folders {
		patterns = append(patterns, folder)
	}
	loaded, err := packages.Load(&packages.Config{
		Dir: root,
		Mode: packages.NeedName | packages.NeedCompiledGoFiles | packages.NeedSyntax | packages.NeedTypes |
			packages.NeedTypesInfo | packages.NeedImports | packages.NeedExportFile,
	}, patterns...)
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range loaded {
		for _, problem := range pkg.Errors {
			t.Fatalf("%s: %v", pkg.PkgPath, problem)
		}
	}
	return loaded
}

// unordered tells whether ranging over x gives a map's entries in the map's own order.
func unordered(info *types.Info, x ast.Expr) bool {
	if known := info.TypeOf(x); known != nil {
		if _, ok := known.Underlying().(*types.Map); ok {
			return true
		}
	}
	call, ok := x.(*ast.CallExpr)
	if !ok {
		return false
	}
	callee, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	f, ok := info.Uses[callee.Sel].(*types.Func)
	return ok && f.Pkg() != nil && f.Pkg().Path() == "maps"
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}
