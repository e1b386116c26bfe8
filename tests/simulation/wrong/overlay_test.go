package wrong

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
)

// root is the module's directory, as seen from this package.
const root = "../../.."

func readSource(file string) (string, error) {
	b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	return string(b), err
}

// changed gives the files of the module as all changes together leave them.
func changed(all []change) (map[string]string, error) {
	files := map[string]string{}
	for _, c := range all {
		if err := c.apply(files, readSource); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// switchVariable names the change that a process makes.
const switchVariable = "SIMULATION_WRONG"

// switchFile is what a package that is changed gets besides.
const switchFile = `package %s

import "os"

var wrongChange = os.Getenv(%q)

func wrongly(name string) bool { return name == wrongChange }
`

var packageClause = regexp.MustCompile(`(?m)^package (\w+)$`)

// build builds the simulator with all changes in it, by way of an overlay: the tree stays as it is.
func build(all []change, dir string) (binary string, err error) {
	files, err := changed(all)
	if err != nil {
		return "", err
	}
	for file, text := range files {
		name := packageClause.FindStringSubmatch(text)[1]
		files[path.Join(path.Dir(file), "wrongly.go")] = fmt.Sprintf(switchFile, name, switchVariable)
	}
	module, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for file, text := range files {
		copied := filepath.Join(dir, strconv.Itoa(len(replace))+".go")
		if err := os.WriteFile(copied, []byte(text), 0o644); err != nil {
			return "", err
		}
		replace[filepath.Join(module, filepath.FromSlash(file))] = copied
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	listed, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "simulation.test")
	if err := os.WriteFile(listed, overlay, 0o644); err != nil {
		return "", err
	}
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-overlay", listed, "-o", binary, "./tests/simulation")
	cmd.Dir = module
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("the simulator does not build with the changes: %w\n%s", err, out)
	}
	return binary, nil
}
