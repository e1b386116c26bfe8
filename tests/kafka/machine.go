package kafka

import (
	"bufio"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

//go:embed Tools.java
var program []byte

// machine is a Java virtual machine that runs tools one after the other. It ends with this process, which closes its
// standard input.
type machine struct {
	cmd     *exec.Cmd
	calls   io.Writer
	answers *bufio.Reader
}

// machines are those that run no tool at the moment. There are as many as tools ran at once.
var machines struct {
	sync.Mutex
	idle []*machine
}

// alone are tools that print at the very end of their machine, which has to be theirs.
var alone = map[string]bool{"verifiable-producer": true, "verifiable-consumer": true, "replica-verification": true}

// Tool runs one of Kafka's tools to its end, in a machine that others have run in before it.
func Tool(t testing.TB, name, stdin string, args ...string) Result {
	t.Helper()
	class, known := classes[name]
	if !known {
		t.Fatalf("no class is known for the tool %q", name)
	}
	if alone[name] {
		line := ToolLine(t, name, args...)
		return Run(t, stdin, line[0], line[1:]...)
	}
	m, err := idleMachine()
	if err != nil {
		t.Fatal(err)
	}
	overdue := time.AfterFunc(patience, func() {
		_ = m.cmd.Process.Kill() // the call fails by it
	})
	r, err := m.run(class, stdin, args)
	if overdue.Stop(); err != nil {
		_ = m.cmd.Process.Kill() // it may be gone, which is one cause
		t.Fatalf("%s %q in a machine that ended (%v): %v", name, args, m.cmd.Wait(), err)
	}
	machines.Lock()
	defer machines.Unlock()
	machines.idle = append(machines.idle, m)
	return r
}

func idleMachine() (*machine, error) {
	machines.Lock()
	defer machines.Unlock()
	if n := len(machines.idle); n > 0 {
		m := machines.idle[n-1]
		machines.idle = machines.idle[:n-1]
		return m, nil
	}
	return startMachine()
}

func startMachine() (*machine, error) {
	compiled, err := compiledTools()
	if err != nil {
		return nil, err
	}
	line, err := javaLine(compiled, "Tools")
	if err != nil {
		return nil, err
	}
	m := &machine{cmd: exec.Command(line[0], line[1:]...)}
	m.cmd.Stderr = os.Stderr
	calls, inErr := m.cmd.StdinPipe()
	answers, outErr := m.cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr); err != nil {
		return nil, err
	}
	m.calls, m.answers = calls, bufio.NewReader(answers)
	return m, m.cmd.Start()
}

// compiledTools gives the folder of the compiled program, a few KiB in the folder of temporary files that nobody removes.
var compiledTools = sync.OnceValues(func() (string, error) {
	jars, err := Jars()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "kafka-tools-")
	if err != nil {
		return "", err
	}
	source := filepath.Join(dir, "Tools.java")
	if err := os.WriteFile(source, program, 0o644); err != nil {
		return "", err
	}
	if out, err := exec.Command("javac", "-d", dir, "-cp", filepath.Join(jars, "*"), source).CombinedOutput(); err != nil {
		return "", fmt.Errorf("compile Tools.java: %w\n%s", err, out)
	}
	return dir, nil
})

// run makes one call of the form that Tools.java takes.
func (m *machine) run(class, stdin string, args []string) (Result, error) {
	call := appendText(nil, class)
	call = binary.BigEndian.AppendUint32(call, uint32(len(args)))
	for _, arg := range args {
		call = appendText(call, arg)
	}
	if _, err := m.calls.Write(appendText(call, stdin)); err != nil {
		return Result{}, err
	}
	stdout, outErr := readText(m.answers)
	stderr, errErr := readText(m.answers)
	code, err := readNumber(m.answers)
	return Result{Stdout: stdout, Stderr: stderr, Code: code}, errors.Join(outErr, errErr, err)
}

func appendText(to []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint32(to, uint32(len(text))), text...)
}

func readNumber(from io.Reader) (int, error) {
	var n int32
	err := binary.Read(from, binary.BigEndian, &n)
	return int(n), err
}

func readText(from io.Reader) (string, error) {
	n, err := readNumber(from)
	if err != nil {
		return "", err
	}
	text := make([]byte, n)
	_, err = io.ReadFull(from, text)
	return string(text), err
}
