package architecture

import (
	"go/ast"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// folders are the module's top-level directories; a new one is a decision, not an accident.
var folders = []string{"actors", "cluster", "cmd", "codec", "configs", "docs", "internal", "partitionlog", "tests"}

func TestTopLevelFoldersAreThoseOfTheDesign(t *testing.T) {
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, entry := range entries {
		if entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") && !ignored(entry.Name()) {
			found = append(found, entry.Name())
		}
	}
	if !slices.Equal(found, folders) {
		t.Errorf("top-level folders are %v, want %v", found, folders)
	}
}

// ignored tells whether version control leaves a folder out, such as the one of built binaries.
func ignored(folder string) bool {
	check := exec.Command("git", "check-ignore", "-q", folder+"/")
	check.Dir = root
	return check.Run() == nil
}

var vagueNames = []string{"util", "utils", "common", "types", "helper", "helpers", "manager", "misc", "base", "shared", "lib"}

func TestPackagesAreNamedAfterWhatTheyHold(t *testing.T) {
	for _, s := range sources(t, everything) {
		name := strings.TrimSuffix(s.file.Name.Name, "_test")
		if slices.Contains(vagueNames, name) {
			t.Errorf("%s: package %s says nothing", s.path, name)
		}
		if stem := strings.TrimSuffix(strings.TrimSuffix(s.base(), ".go"), "_test"); slices.Contains(vagueNames, stem) {
			t.Errorf("%s: the file's name says nothing", s.path)
		}
	}
}

// established are names that stutter because the trade knows them so.
var established = []string{"trace.TraceID"} // OpenTelemetry's

// replica.ReplicaState stutters; replica.State does not.
func TestExportedNamesDoNotStutter(t *testing.T) {
	for _, s := range sources(t, production) {
		stutter := s.file.Name.Name
		for _, decl := range s.file.Decls {
			for _, name := range exported(decl) {
				if slices.Contains(established, stutter+"."+name) {
					continue
				}
				if len(name) > len(stutter) && strings.EqualFold(name[:len(stutter)], stutter) && unicode.IsUpper(rune(name[len(stutter)])) {
					t.Errorf("%s: %s.%s stutters", s.path, s.file.Name.Name, name)
				}
			}
		}
	}
}

// exported gives the package-level types and functions that a declaration exports.
func exported(decl ast.Decl) []string {
	var names []string
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil && d.Name.IsExported() {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if ts, ok := spec.(*ast.TypeSpec); ok && ts.Name.IsExported() {
				names = append(names, ts.Name.Name)
			}
		}
	}
	return names
}

func TestExportedNamesAreDocumented(t *testing.T) {
	for _, s := range sources(t, production) {
		for _, decl := range s.file.Decls {
			undocumented := false
			switch d := decl.(type) {
			case *ast.FuncDecl:
				undocumented = d.Doc == nil && d.Recv == nil
			case *ast.GenDecl:
				undocumented = d.Doc == nil && !slices.ContainsFunc(d.Specs, func(spec ast.Spec) bool {
					ts, ok := spec.(*ast.TypeSpec)
					return !ok || ts.Doc != nil
				})
			}
			if names := exported(decl); undocumented && len(names) > 0 {
				t.Errorf("%s:%d: %s has no comment", s.path, s.line(decl), names[0])
			}
		}
	}
}
