package architecture

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	namedFile       = regexp.MustCompile("`([\\w./-]+\\.(?:go|txt))`")
	namedIdentifier = regexp.MustCompile("`([A-Za-z]+(?:\\.[A-Za-z]+)*)`")
)

// A page that sends its reader to a file which was renamed since is worse than none.
func TestDocumentsNameFilesThatThereAre(t *testing.T) {
	var paths []string
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		paths = append(paths, filepath.ToSlash(path))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{"ARCHITECTURE.md", "docs/invariants.md"} {
		for _, found := range namedFile.FindAllStringSubmatch(document(t, page), -1) {
			if !slices.ContainsFunc(paths, func(path string) bool { return strings.HasSuffix(path, "/"+found[1]) }) {
				t.Errorf("%s: there is no file %s", page, found[1])
			}
		}
	}
}

// Each invariant says by what it is kept: names of the code, which must be found there.
func TestInvariantsAreKeptByCodeThatThereIs(t *testing.T) {
	known := map[string]bool{}
	word := regexp.MustCompile(`[A-Za-z]+`)
	for _, s := range sources(t, production) {
		for _, w := range word.FindAllString(string(s.text), -1) {
			known[w] = true
		}
	}
	invariants := 0
	for line := range strings.Lines(document(t, "docs/invariants.md")) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || !strings.Contains(cells[3], "`") {
			continue
		}
		invariants++
		for _, found := range namedIdentifier.FindAllStringSubmatch(cells[3], -1) {
			for _, name := range strings.Split(found[1], ".") {
				if !known[name] {
					t.Errorf("%s is kept by %s, but nothing is called %s", strings.TrimSpace(cells[1]), found[1], name)
				}
			}
		}
	}
	if invariants < 50 {
		t.Errorf("%d invariants were read: the form of the page has changed", invariants)
	}
}

func document(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
