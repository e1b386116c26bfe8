package script

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"troupe/cmd/troupe/client/option"
)

// Background starts the binary again with a command line, apart from this terminal, and returns. Its output goes to
// kafkaServer.out in $LOG_DIR, or in the directory logs beside the one the script is called from, as Kafka's does.
func Background(script string, args []string) error {
	binary, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this binary: %w", err)
	}
	dir := os.Getenv("LOG_DIR")
	if dir == "" {
		if script, err = exec.LookPath(script); err != nil {
			return fmt.Errorf("find the script: %w", err)
		}
		dir = filepath.Join(filepath.Dir(script), "..", "logs")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return option.Fail("output of -daemon: %s; set LOG_DIR to a directory that can be written", err)
	}
	// Emptied at each start, as by the script's redirection.
	out, err := os.OpenFile(filepath.Join(dir, "kafkaServer.out"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return option.Fail("output of -daemon: %s; set LOG_DIR to a directory that can be written", err)
	}
	// The binary and not the script: under its own name it takes the command as the first argument.
	c := exec.Command(binary, args...)
	c.Stdout, c.Stderr = out, out
	c.SysProcAttr = detached()
	// The child has the file open; this process needs it no longer, whether or not the child started.
	startErr := c.Start()
	if err := out.Close(); err != nil && startErr == nil {
		return err
	}
	return startErr
}
