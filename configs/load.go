package configs

import "errors"

// Options says what Load reads. Environment has the form of os.Environ, Set that of --set: key=value.
type Options struct {
	File        string // YAML, or a server.properties; empty takes the embedded default
	Environment []string
	Set         []string
	DataDir     string // where the embedded default keeps data; empty takes the user's data directory
	Hostname    string // advertised for listeners on every address; empty asks the system
}

// Unused is a key that was set and has no effect.
type Unused struct {
	Key    string
	Origin string
	Reason string
}

// Loaded is the outcome of Load. Unused wants one warning each; Embedded tells that no file was given.
type Loaded struct {
	Broker   Broker
	Layers   Layers
	Unused   []Unused
	Embedded bool
}

// Load reads the static configuration. Its errors name the key, the value, where it stands and what was expected.
func Load(o Options) (*Loaded, error) { return nil, errors.New("configuration is not loaded yet") }
