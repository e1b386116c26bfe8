package wrong

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// change is a deliberately wrong change of production code: a unified diff, with what is wrong in front of it. What it adds
// asks `wrongly("NAME")`, so that all of them are built into one binary, in which each is switched on by itself.
type change struct {
	name  string
	why   string
	edits []edit
}

// edit is a hunk. Where it belongs is told by its lines alone, so that code may move.
type edit struct {
	file        string // from the module's root
	old, remade string
}

// read takes the changes of a folder.
func read(dir string) ([]change, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.patch"))
	if err != nil {
		return nil, err
	}
	var all []change
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		c, err := parse(strings.TrimSuffix(filepath.Base(path), ".patch"), string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// parse reads a unified diff. Line numbers do not matter.
func parse(name, text string) (change, error) {
	c := change{name: name}
	file := ""
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "--- "):
		case strings.HasPrefix(line, "+++ b/"):
			file = strings.TrimSpace(strings.TrimPrefix(line, "+++ b/"))
		case file == "":
			c.why += line
		case strings.HasPrefix(line, "@@"):
			c.edits = append(c.edits, edit{file: file})
		case len(c.edits) == 0 || !strings.ContainsRune(" +-", rune(line[0])):
			return c, fmt.Errorf("%s.patch is no unified diff: %q", name, line)
		default:
			e := &c.edits[len(c.edits)-1]
			if line[0] != '+' {
				e.old += line[1:]
			}
			if line[0] != '-' {
				e.remade += line[1:]
			}
		}
	}
	c.why = strings.Join(strings.Fields(c.why), " ")
	switch {
	case c.why == "" || len(c.edits) == 0:
		return c, fmt.Errorf("%s.patch does not say what is wrong, or changes nothing", name)
	case !strings.Contains(text, fmt.Sprintf("wrongly(%q)", name)):
		return c, fmt.Errorf("%s.patch does not ask wrongly(%q)", name, name)
	}
	return c, nil
}

// apply makes a change in the texts of files, which it reads where they are not there yet.
func (c change) apply(files map[string]string, read func(string) (string, error)) error {
	for _, e := range c.edits {
		text, there := files[e.file]
		if !there {
			var err error
			if text, err = read(e.file); err != nil {
				return fmt.Errorf("%s.patch: %w", c.name, err)
			}
		}
		switch n := strings.Count(text, e.old); n {
		case 1:
			files[e.file] = strings.Replace(text, e.old, e.remade, 1)
		case 0:
			return fmt.Errorf("%s.patch no longer applies: %s does not have these lines; make the change anew where the code is now:\n%s", c.name, e.file, e.old)
		default:
			return fmt.Errorf("%s.patch is ambiguous: %s has these lines %d times; give it more of them:\n%s", c.name, e.file, n, e.old)
		}
	}
	return nil
}
