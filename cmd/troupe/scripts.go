package main

import (
	"path/filepath"
	"strings"
)

// scriptArguments gives the arguments of the command that the binary is called for. Called as kafka-topics.sh,
// kafka-topics or kafka-topics.bat it is the command topics; under its own name the command is the first argument.
func scriptArguments(args []string) []string {
	name := filepath.Base(args[0])
	for _, suffix := range []string{".exe", ".sh", ".bat"} {
		name = strings.TrimSuffix(name, suffix)
	}
	if command, ok := strings.CutPrefix(name, "kafka-"); ok {
		return append([]string{command}, args[1:]...)
	}
	return args[1:]
}
