// Package scenario plays the scenario files of a machine in its tests: prose, commands, and exactly what comes of them.
package scenario

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Run plays each file of the pattern as a subtest of its own, on what newStage makes: a function that carries out a command
// and tells its effects. A file is blocks with an empty line between: prose ("# …") and commands, a line each, then
// "----" and the effects of all the block's commands. A block of prose alone says something to the reader.
func Run(t *testing.T, pattern string, newStage func(*testing.T) func(command string) string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scenarios in %s, %v", len(files), pattern, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			play(t, string(text), newStage(t))
		})
	}
}

func play(t *testing.T, text string, do func(command string) string) {
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		head, want, _ := strings.Cut(block+"\n", "----\n")
		var got strings.Builder
		for line := range strings.Lines(head) {
			if command := strings.TrimSpace(line); command != "" && !strings.HasPrefix(command, "#") {
				got.WriteString(do(command))
			}
		}
		if strings.TrimSpace(got.String()) != strings.TrimSpace(want) {
			t.Errorf("%s\n--- got\n%s--- want\n%s", head, got.String(), want)
		}
	}
}
